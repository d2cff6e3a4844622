-- Several things of each of some rankings of one board: the first rows, a player with the rows around, and some players among themselves.
--
-- KEYS     list of rankings, watermarks; then for each ranking: key, times, dense
-- ARGV[1]  msgpack: {epoch, now, desc, looks}; a look is {form, field, top, player or false, around, among, limit, standard, dense}: the
--          ranks of the first `limit` players of those `among` are wanted, and whether standard or dense ones are
-- Answers  msgpack: for each look {rows in all, hidden, top, place, near, among}, or in its place what `opened` tells, or 'dense': its
--          index is not there. A page is {rows, offset, standard and dense rank of the first row}, or false; a place is {score, time,
--          unique, standard, dense}, or false; `among` are lists by player: scores (false: not ranked), times, unique, standard and
--          dense ranks (0: not wanted), each false where it is not kept or not wanted
-- Cost     O(log N + rows) for each look, and O(log N) for each player.

local epoch, now, desc, looks = unpack(cmsgpack.unpack(ARGV[1]))
local range, ranked = desc and 'ZREVRANGE' or 'ZRANGE', desc and 'ZREVRANK' or 'ZRANK'

local function page_of(r, total, offset, limit, dense)
  local rows = {}
  if limit > 0 and total > 0 then
    local found = call(range, r.key, offset, offset + limit - 1, 'WITHSCORES')
    for i = 1, #found, 2 do rows[#rows + 1] = {row_of(r, found[i], found[i + 1])} end
  end
  if not rows[1] then return {rows, offset, total + 1, 0} end
  return {rows, offset, standard_rank(r, desc, rows[1][2]), dense and dense_rank(r, desc, rows[1][2]) or 0}
end

-- The score that the player at a place among some has, the best first; nothing where there are no more than that.
local function score_at(scores, limit)
  local sorted = {}
  for _, score in ipairs(scores) do
    if score then sorted[#sorted + 1] = score end
  end
  if #sorted <= limit then return end
  table.sort(sorted)
  return desc and sorted[#sorted - limit + 1] or sorted[limit]
end

local function among_of(r, players, limit, standard, dense)
  local scores, sinces, members = read_all(r, players)
  local last = limit > 0 and score_at(scores, limit)
  local uniques, standards, denses = {}, standard and {}, dense and {}
  for i, score in ipairs(scores) do
    local wanted = score and limit > 0 and (not last or (desc and score >= last) or (not desc and score <= last))
    uniques[i] = wanted and call(ranked, r.key, members[i]) + 1 or 0
    if standard then standards[i] = wanted and standard_rank(r, desc, score) or 0 end
    if dense then denses[i] = wanted and dense_rank(r, desc, score) or 0 end
  end
  return {scores, (r.keeps or r.kind == 'composite') and sinces, uniques, standards, denses}
end

local function seen(i, look)
  local form, field, top, player, around, among, limit, standard, dense = unpack(look)
  local r = ranking(KEYS, 3 * i, form)
  local total, upto, pruned = opened(r, KEYS[1], KEYS[2], {epoch, field, now})
  if not total then return upto end
  if dense and total > 0 and upto ~= math.huge then return 'dense' end
  local place, near = false, false
  if player and total > 0 then
    local scores, sinces, members = read_all(r, {player})
    local score = scores[1]
    if score then
      local unique = call(ranked, r.key, members[1]) + 1
      place = {score, sinces[1], unique, standard_rank(r, desc, score), dense and dense_rank(r, desc, score) or 0}
      local first = math.max(0, unique - 1 - around)
      if around > 0 then near = page_of(r, total, first, unique + around - first, dense) end
    end
  end
  return {total, hidden_of(pruned), page_of(r, total, 0, top, dense), place, near, among_of(r, among, limit, standard, dense)}
end

local answers = {}
for i, look in ipairs(looks) do answers[i] = seen(i, look) end
return cmsgpack.pack(answers)
