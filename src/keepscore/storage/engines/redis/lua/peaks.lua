-- How far from zero the scores of rankings are at most.
--
-- KEYS     list of rankings, watermarks; then for each ranking: key, times, dense
-- ARGV[1]  msgpack: {epoch, now, rankings}; a ranking is {form, field}
-- Answers  msgpack: a number for each ranking, or in its place what `opened` tells
-- Cost     O(log N) for each ranking.

local epoch, now, rankings = unpack(cmsgpack.unpack(ARGV[1]))
local peaks = {}
for i, wanted in ipairs(rankings) do
  local r = ranking(KEYS, 3 * i, wanted[1])
  local total, problem = opened(r, KEYS[1], KEYS[2], {epoch, wanted[2], now})
  local peak = problem
  if total then
    peak = 0
    for _, place in ipairs({0, -1}) do
      local number = call('ZRANGE', r.key, place, place, 'WITHSCORES')[2]
      if number then peak = math.max(peak, math.abs((decoded(r, tonumber(number))))) end
    end
  end
  peaks[i] = peak
end
return cmsgpack.pack(peaks)
