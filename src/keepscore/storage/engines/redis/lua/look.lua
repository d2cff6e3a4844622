-- Look for what Keepscore has not made in the place of a board's rankings, and of what lies beside them.
--
-- KEYS     watermarks, list of rankings, spool, late players; then for each ranking: key, times, dense
-- ARGV[1]  msgpack: {epoch, now, rankings, healed}; a ranking is {form, field, name of the key}; healed: the board was just rebuilt, so
--          that what the list does not tell of is somebody else's, and the list is told
-- Answers  msgpack: {'ok', found}: found are {ranking, key, type, size} · {'type', key, type}: it is one of the board's own keys
--          {'lost', ranking}: something of it is lost, or there that the list does not tell of · {'gone'}: the board is not there
-- Cost     O(rankings)
-- Needs    changes.lua

local epoch, now, rankings, healed = unpack(cmsgpack.unpack(ARGV[1]))
local marks, list = KEYS[1], KEYS[2]

local key, kind = misfit({marks, list, KEYS[3], KEYS[4]}, BOARD_TYPES)
if key then return cmsgpack.pack({'type', key, kind}) end
if call('HGET', marks, 'epoch') ~= epoch then return cmsgpack.pack({'gone'}) end
local found = {}
for i, given in ipairs(rankings) do
  local form, field, name = unpack(given)
  local r = ranking(KEYS, 3 * i + 2, form)
  local expiry, _, listed, _, players = entry(list, field)
  local size = size_of(r)
  if healed and not listed and size ~= 0 and is_there(list) then
    players = TAKEN
    list_entry(list, field, 0, nil, name, nil, TAKEN)
  end
  key, kind = misfit({r.key, r.times, r.dense}, RANKING_TYPES, 2)
  if players == TAKEN and size ~= 0 then
    found[#found + 1] = {i, r.key, call('TYPE', r.key).ok, size or 0}
  elseif key then
    found[#found + 1] = {i, key, kind, 0}
  elseif is_lost(r, size, expiry, listed, players, now) or not (listed or is_there(list)) then
    return cmsgpack.pack({'lost', i})
  end
end
return cmsgpack.pack({'ok', found})
