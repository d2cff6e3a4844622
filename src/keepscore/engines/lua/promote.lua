-- Put a shadow into the place of a board, in one step.
--
-- KEYS     watermarks, list of rankings of the board; the same of its shadow; then for each ranking of the shadow its three keys and
--          the three that they become; then the keys of what there is no more
-- ARGV[1]  msgpack: {how many rankings the board's list has, the shadow's expiries in milliseconds from now (0: never)}
-- Answers  1, 0 where the list has changed, or -1 where there is no such shadow
-- Cost     O(rankings)

local listed, expiries = unpack(cmsgpack.unpack(ARGV[1]))
if call('EXISTS', KEYS[3]) == 0 then return -1 end
if call('HLEN', KEYS[2]) ~= listed then return 0 end
local at = 5
for _, expiry in ipairs(expiries) do
  for i = at, at + 2 do
    call('UNLINK', KEYS[i + 3])
    if call('EXISTS', KEYS[i]) == 1 then
      call('RENAME', KEYS[i], KEYS[i + 3])
      if expiry > 0 then call('PEXPIRE', KEYS[i + 3], expiry) else call('PERSIST', KEYS[i + 3]) end
    end
  end
  at = at + 6
end
for i = at, #KEYS do call('UNLINK', KEYS[i]) end
for i = 1, 2 do
  call('UNLINK', KEYS[i])
  if call('EXISTS', KEYS[i + 2]) == 1 then
    call('RENAME', KEYS[i + 2], KEYS[i])
    call('PERSIST', KEYS[i])
  end
end
return 1
