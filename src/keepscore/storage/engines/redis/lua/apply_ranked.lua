-- The third path of apply.lua: one update after the other, each folded and written before the next, with the ranks before and after.
-- Needs    updates.lua

local function ranks_of(r, desc, kind, member, score)
  local unique = unique_rank(r, desc, member)
  if kind == 'unique' then return unique, unique end
  if kind == 'standard' then return standard_rank(r, desc, score), unique end
  return dense_rank(r, desc, score), unique
end

-- Answers columns with a row for each update that asks for ranks: scores, whether the state changed, rank before (-1: none), rank,
-- unique rank (false in the place of the column: the same), players. False: none asks.
local function apply_ranked(batch, r)
  local desc, kind = batch.desc, batch.rank
  local scores, sinces, members = read_states(batch, r)
  local columns = {{}, {}, {}, {}, kind ~= 'unique' and {}, {}}
  local told_scores, changes, befores, ranks, uniques, totals = unpack(columns)
  local rows = 0
  for _, u in ipairs(r.own) do
    local player, is_asked = batch.players[u], r.is_whole and batch.asked and batch.asked[u]
    if begin_again(batch, r, u) then scores, sinces, members = {}, {}, {} end
    local old_score, member = scores[player], members[player]
    local score, since, is_updated, is_unknown = fold_update(batch, r, u, old_score, sinces[player])
    local before, rank, unique = -1, nil, nil
    if is_asked and old_score then
      rank, unique = ranks_of(r, desc, kind, member, old_score)
      before = rank
    end
    if is_updated then
      member = write(r, player, score, since, old_score, member)
      r.is_changed = true
      if not old_score then r.total = r.total + 1 end
      scores[player], sinces[player], members[player] = score, r.tells_time and since or NO_TIME, member
      if is_asked then rank, unique = ranks_of(r, desc, kind, member, score) end
    elseif is_unknown then
      -- Behind all who are kept, until the player is restated.
      rank, unique = r.total + 1, r.total + 1
    end
    if is_asked then
      rows = rows + 1
      told_scores[rows], changes[rows], befores[rows], ranks[rows] = score, is_updated or is_unknown or false, before, rank
      if uniques then uniques[rows] = unique end
      totals[rows] = r.total + hidden_of(r.pruned)
    end
  end
  return rows > 0 and columns
end
