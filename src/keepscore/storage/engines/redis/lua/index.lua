-- Bring some more scores into the index of a ranking's distinct scores. Scores up to the last one indexed are kept up to date by
-- every other script from then on, so that the index is right whatever happens meanwhile.
--
-- KEYS     watermarks, list of rankings; key, times and dense of a ranking
-- ARGV[1]  msgpack: {epoch (false: it is a shadow's, that has none yet), form, field, name of the key, how many players to look at}
-- Answers  1 when all scores are in the index, or the board has another epoch, else 0
-- Cost     O(log N) for each player that is looked at.
-- Needs    changes.lua

local epoch, form, field, name, limit = unpack(cmsgpack.unpack(ARGV[1]))
if epoch and call('HGET', KEYS[1], 'epoch') ~= epoch then return 1 end
local list, r = KEYS[2], ranking(KEYS, 3, form)
local expiry, upto, _, pruned, players = entry(list, field)
upto = indexed(r, upto, call('ZCARD', r.key))
if upto == math.huge then return 1 end
-- Until the list tells how far it is, there is no index: where this fails midway, it starts over.
list_entry(list, field, expiry, nil, name, pruned, players)
local from = '-inf'
if upto then from = string.format('%.17g', (upto + 1) * r.unit)
else call('DEL', r.dense) end
local found = call('ZRANGEBYSCORE', r.key, from, '+inf', 'WITHSCORES', 'LIMIT', 0, limit)
local last = nil
for i = 2, #found, 2 do
  local score = decoded(r, tonumber(found[i]))
  if score ~= last then call('ZADD', r.dense, score, label(score)) end
  last = score
end
local complete = #found < 2 * limit or last == upto
local rest = call('PTTL', r.key)
if rest > 0 then call('PEXPIRE', r.dense, rest) end
list_entry(list, field, expiry, complete and math.huge or last, name, pruned, players)
return complete and 1 or 0
