-- What the paths of apply.lua share.
-- Needs    folds.lua

-- Scores, times and members of the players of some updates, by player.
local function read_states(batch, r)
  local scores, sinces, members, names = {}, {}, {}, {}
  if r.is_new then return scores, sinces, members end
  for _, u in ipairs(r.own) do
    local player = batch.players[u]
    if scores[player] == nil then
      scores[player] = false
      names[#names + 1] = player
    end
  end
  local found, times, found_members = read_all(r, names)
  for i, player in ipairs(names) do
    if found[i] then scores[player], sinces[player], members[player] = found[i], times[i], found_members[i] end
  end
  return scores, sinces, members
end

-- Let a ranking begin again if its time was over when an update came, and stay for as long as the update wants. Answers whether it does.
local function begin_again(batch, r, u)
  local is_over = r.expiry > 0 and r.expiry <= batch.receiveds[u]
  if is_over then
    expire(r, 0)
    r.is_changed = true
    r.expiry, r.total, r.before, r.players, r.pruned, r.upto = 0, 0, 0, 0, nil, r.upto and math.huge
  end
  r.expiry = math.max(r.expiry, r.expiries[batch.taken[u]])
  return is_over
end

-- Have the player of an update restated.
local function restate(batch, r, u)
  batch.restates[#batch.restates + 1], batch.restates[#batch.restates + 2] = u, r.position
  call('SADD', batch.late, r.field .. '\0' .. batch.players[u])
end

-- The state of a player with one more update: score, time, whether they changed; and whether nobody knows it, as the player is not kept.
local function fold_update(batch, r, u, score, since)
  local operator, amount, at = batch.operator, batch.amounts[u], batch.ats[u]
  local time = operator.is_ordered and at - at % r.step or at
  if not score then
    -- What a player had before who is not kept may be in the ledger only.
    if r.pruned then restate(batch, r, u) end
    return amount, time, not r.pruned, r.pruned and true
  end
  local where = operator.is_ordered and place(batch, since, time, at, batch.receiveds[u])
  local new_score, new_since = operator.fold(batch.desc, score, since, batch.sets[u], amount, time, batch.scale, where)
  if not new_score then
    restate(batch, r, u)
    return score, since, false
  end
  return new_score, new_since, new_score ~= score or (r.tells_time and new_since ~= since)
end
