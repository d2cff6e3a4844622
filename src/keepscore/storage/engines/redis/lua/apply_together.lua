-- The second path of apply.lua: states are read at once, folded here, and written at once.
-- Needs    updates.lua

-- Write the states of the players in `changed`, which has the member of each before, or false.
local function write_all(r, changed, scores, sinces, members)
  local numbers, times, gone = {}, {}, {}
  for player, old in pairs(changed) do
    local member, since = members[player], sinces[player]
    if r.kind == 'timed' then
      if old ~= member then
        times[#times + 1], times[#times + 2] = player, string.sub(member, 1, 6)
        if old then gone[#gone + 1] = old end
      end
    elseif r.keeps then
      times[#times + 1], times[#times + 2] = player, label(since)
    end
    numbers[#numbers + 1], numbers[#numbers + 2] = encoded(r, scores[player], since), member
  end
  for _, job in ipairs({{'ZREM', r.key, gone}, {'HSET', r.times, times}, {'ZADD', r.key, numbers}}) do
    local command, key, values = unpack(job)
    for first = 1, #values, 1000 do call(command, key, unpack(values, first, math.min(first + 999, #values))) end
  end
end

local function apply_together(batch, r)
  local scores, sinces, members = read_states(batch, r)
  local changed = {}
  for _, u in ipairs(r.own) do
    local player = batch.players[u]
    if begin_again(batch, r, u) then scores, sinces, members, changed = {}, {}, {}, {} end
    local old_score = scores[player]
    local score, since, is_updated = fold_update(batch, r, u, old_score, sinces[player])
    if is_updated then
      if changed[player] == nil then changed[player] = members[player] or false end
      if not old_score then r.total = r.total + 1 end
      scores[player], sinces[player], members[player] = score, r.tells_time and since or NO_TIME, member_of(r, player, since)
    end
  end
  write_all(r, changed, scores, sinces, members)
  r.is_changed = r.is_changed or next(changed) ~= nil
end
