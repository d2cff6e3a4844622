-- Where players stand.
--
-- KEYS     key, times and dense of a ranking, list of rankings, watermarks
-- ARGV[1]  msgpack: {form, field, desc, players, standard, dense}: the last two say which ranks are wanted beside the unique one
-- Answers  msgpack: {total, numbers}: for each player score (false: not ranked), since, unique, standard, dense rank (0: not wanted);
--          or 'dense': the index is not there; or 'lost': nothing of the board is
-- Cost     O(log N) for each player.

local form, field, desc, players, standard, dense = unpack(cmsgpack.unpack(ARGV[1]))
local r = ranking(KEYS, 1, form)
local _, upto, listed, pruned = entry(KEYS[4], field)
if not listed and call('EXISTS', KEYS[5]) == 0 then return 'lost' end
local total = listed and call('ZCARD', r.key) or 0
if dense and total > 0 and upto ~= math.huge then return 'dense' end
local scores, sinces, members = read_all(r, total > 0 and players or {})
local rank = desc and 'ZREVRANK' or 'ZRANK'
local numbers = {}
for i = 1, #players do
  local at, score = 5 * i, scores[i]
  if score then
    numbers[at - 4], numbers[at - 3] = score, sinces[i]
    numbers[at - 2] = call(rank, r.key, members[i]) + 1
    numbers[at - 1] = standard and standard_rank(r, desc, score) or 0
    numbers[at] = dense and dense_rank(r, desc, score) or 0
  else
    numbers[at - 4], numbers[at - 3], numbers[at - 2], numbers[at - 1], numbers[at] = false, 0, 0, 0, 0
  end
end
return cmsgpack.pack({total + hidden_of(pruned), numbers})
