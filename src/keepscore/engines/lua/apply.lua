-- Apply batches of events, all of them or none.
--
-- KEYS     for each batch: watermarks, list of rankings, spool, late players; then for each of its rankings: key, times, dense
-- ARGV[1]  msgpack: {now, batches}; a batch is {epoch, writer, after, upto, operator, desc, rank, rankings, routes,
--          updates, scale, what the spool gets or ''}:
--            ranking  {form, field, name of the key}
--            route    {positions in rankings, expiries, how many of them are wholes}
--            updates  columns: {players, whether it is a set, amounts, ats, receiveds, routes, whether ranks are asked for, or false
--                     where that is so for none}
--            scale    units of a doubling where scores and amounts are levels, on a board with decay; else false
-- Answers  msgpack: {'ok', outcomes of each batch} · {'gap', batch, applied or -1} · {'type', key, type} · {'dense', batch, rankings}
--          {'foreign', key, size}: the key holds players, and the list does not know it
--            outcome  {changes, positions of rankings to restate}; a change is {score, updated, previous or -1, rank, unique, total};
--                     true in the place of a batch's outcomes: there is nothing to tell of any
-- Cost     O(log N) for each event and ranking. Everything is checked before the first write.
-- Needs    changes.lua

local now, batches = unpack(cmsgpack.unpack(ARGV[1]))

-- Check: positions and types.
local at = 1
for b, batch in ipairs(batches) do
  local epoch, writer, after, upto, _, _, rank, rankings = unpack(batch)
  local marks, list, spool, late = KEYS[at], KEYS[at + 1], KEYS[at + 2], KEYS[at + 3]
  at = at + 4
  for _, pair in ipairs({{marks, 'hash'}, {list, 'hash'}, {spool, 'stream'}, {late, 'set'}}) do
    local kind = call('TYPE', pair[1]).ok
    if kind ~= pair[2] and kind ~= 'none' then return cmsgpack.pack({'type', pair[1], kind}) end
  end
  local found = call('HMGET', marks, 'epoch', writer)
  if found[1] ~= epoch then return cmsgpack.pack({'gap', b, -1}) end
  local applied = mark_of(found[2]) or 0
  batch.done = applied >= upto
  if applied ~= after and not batch.done then return cmsgpack.pack({'gap', b, applied}) end
  batch.marks, batch.list, batch.spool, batch.late, batch.rankings = marks, list, spool, late, {}
  local unready = {}
  for i, given in ipairs(rankings) do
    local r = ranking(KEYS, at, given[1])
    at = at + 3
    for _, pair in ipairs({{r.key, 'zset'}, {r.times, 'hash'}, {r.dense, 'zset'}}) do
      local kind = call('TYPE', pair[1]).ok
      if kind ~= pair[2] and kind ~= 'none' then return cmsgpack.pack({'type', pair[1], kind}) end
    end
    local listed
    r.expiry, r.upto, listed, r.pruned = entry(list, given[2])
    r.due, r.indexed, r.field, r.name = r.expiry, r.upto, given[2], given[3]
    r.total = call('ZCARD', r.key)
    r.new = r.total == 0
    if not listed and not r.new and not batch.done then return cmsgpack.pack({'foreign', r.key, r.total}) end
    if rank == 'dense' and r.upto ~= math.huge then
      if r.total == 0 then r.upto = math.huge else unready[#unready + 1] = i end
    elseif r.total == 0 and r.upto then
      r.upto = math.huge
    end
    batch.rankings[i] = r
  end
  if #unready > 0 and not batch.done then return cmsgpack.pack({'dense', b, unready}) end
end

-- Two levels together, as decay.py adds them, operation by operation.
local WORTHLESS, LN2 = -LARGEST, math.log(2)
local function added(a, b, scale)
  if a < b then a, b = b, a end
  if b == WORTHLESS then return a end
  return a + math.floor(math.log(1 + 2 ^ ((b - a) / scale)) / LN2 * scale + 0.5)
end

-- The fold of each operator: the new state, or nothing where the player has to be restated.
local folds = {}
function folds.best(desc, score, since, set, amount, time)
  local better = amount > score
  if not desc then better = amount < score end
  if better or (amount == score and time < since) then return amount, time end
  return score, since
end
function folds.first(desc, score, since, set, amount, time)
  local better = amount > score
  if not desc then better = amount < score end
  if time < since or (time == since and better) then return amount, time end
  return score, since
end
function folds.sum(desc, score, since, set, amount, time, mine, scale)
  return scale and added(score, amount, scale) or score + amount, math.max(since, time)
end
-- Which of two events of one time comes first is for the ledger to say, unless both are of this batch.
function folds.last(desc, score, since, set, amount, time, mine, scale)
  if time < since or (time == since and not mine) then return nil end
  if set then return amount, time end
  return scale and added(score, amount, scale) or score + amount, time
end

local function ranks(r, desc, kind, member, score)
  local unique = unique_rank(r, desc, member)
  if kind == 'unique' then return unique, unique end
  if kind == 'standard' then return standard_rank(r, desc, score), unique end
  return dense_rank(r, desc, score), unique
end

-- The numbers of each route's updates, in order.
local function by_route(routes, taken)
  local parts = {}
  for route in ipairs(routes) do parts[route] = {} end
  for u, route in ipairs(taken) do
    local part = parts[route]
    part[#part + 1] = u
  end
  return parts
end

-- The states of all players of a batch, read at once for each ranking. `parts` are the updates of each route.
local function read_states(batch, routes, parts, names)
  for _, r in ipairs(batch.rankings) do r.states = {} end
  for route, given in ipairs(routes) do
    local players, seen = {}, {}
    for _, u in ipairs(given[1][1] and parts[route] or {}) do
      local player = names[u]
      if not seen[player] then
        seen[player] = true
        players[#players + 1] = player
      end
    end
    for _, position in ipairs(given[1]) do
      local r = batch.rankings[position]
      local names = r.new and {} or players
      local scores, sinces, members = read_all(r, names)
      for i, player in ipairs(names) do
        if scores[i] then r.states[player] = {scores[i], sinces[i], members[i]} end
      end
    end
  end
end

-- Whether the best of a player's numbers in a ranking is the fold of them, which Redis finds by itself: where the time is in the
-- number, the earlier one has to be ahead.
local function is_best(r, desc)
  if r.kind == 'plain' then return not r.keeps end
  return r.kind == 'composite' and r.reversed == desc
end

-- Numbers and members of some updates, as ZADD takes them.
local function encoded_all(r, part, players, amounts, times)
  local numbers, unit, time, rest = {}, r.kind == 'composite' and r.unit or 1, nil, nil
  for i, u in ipairs(part) do
    if times[u] ~= time then
      time = times[u]
      rest = encoded(r, 0, time)
    end
    numbers[2 * i - 1], numbers[2 * i] = amounts[u] * unit + rest, players[u]
  end
  return numbers
end

-- Put the updates of each route into those rankings of it that need no fold of ours, and leave the others in the route.
-- Answers whether there are others.
local function add_best(batch, desc, routes, parts, updates)
  local players, _, amounts, times, receiveds = unpack(updates)
  local latest, left = 0, false
  for _, received in ipairs(receiveds) do latest = math.max(latest, received) end
  for _, given in ipairs(routes) do
    for i, position in ipairs(given[1]) do
      local r, expiry = batch.rankings[position], given[2][i]
      -- One that begins anew on the way needs all in order, as does one with an index of scores, or with players who are not kept.
      r.ordered = r.ordered or r.upto or r.pruned or (expiry > 0 and expiry <= latest) or (r.due > 0 and r.due <= latest)
    end
  end
  for route, part in ipairs(parts) do
    local given = routes[route]
    local positions, expiries, plain = {}, {}, nil
    for i, position in ipairs(given[1]) do
      local r = batch.rankings[position]
      if r.ordered or not is_best(r, desc) then
        positions[#positions + 1], expiries[#expiries + 1] = position, given[2][i]
      else
        local numbers = r.kind == 'plain' and plain or encoded_all(r, part, players, amounts, times)
        if r.kind == 'plain' then plain = numbers end
        for first = 1, #numbers, 1000 do
          call('ZADD', r.key, desc and 'GT' or 'LT', unpack(numbers, first, math.min(first + 999, #numbers)))
        end
        r.expiry = math.max(r.expiry, given[2][i])
      end
    end
    given[1], given[2] = positions, expiries
    left = left or #positions > 0
  end
  return left
end

-- Write the states that were set aside, all of a ranking at once.
local function write_set_aside(r)
  local numbers, times, gone = {}, {}, {}
  for player, old in pairs(r.aside) do
    local score, since, member = unpack(r.states[player])
    if r.kind == 'timed' then
      if old ~= member then
        times[#times + 1], times[#times + 2] = player, string.sub(member, 1, 6)
        if old then gone[#gone + 1] = old end
      end
    elseif r.keeps then
      times[#times + 1], times[#times + 2] = player, label(since)
    end
    numbers[#numbers + 1], numbers[#numbers + 2] = encoded(r, score, since), member
  end
  for _, job in ipairs({{'ZREM', r.key, gone}, {'HSET', r.times, times}, {'ZADD', r.key, numbers}}) do
    local command, key, values = unpack(job)
    for first = 1, #values, 1000 do call(command, key, unpack(values, first, math.min(first + 999, #values))) end
  end
end

local NOTHING = {}
local UNEVENTFUL = {NOTHING, NOTHING}
local NO_UPDATES = {NOTHING, NOTHING, NOTHING, NOTHING, NOTHING, NOTHING, false}
local answers = {}
for b, batch in ipairs(batches) do
  local _, writer, _, upto, operator, desc, kind, _, routes, updates, scale = unpack(batch)
  local fold = folds[operator]
  local outcomes, telling = {}, false
  if batch.done then updates = NO_UPDATES end
  -- Where nobody asks for ranks on the way, and no index of scores has to follow, only the last states matter: they are set aside.
  local quick = not updates[7]
  local parts = by_route(routes, updates[6])
  if quick and operator == 'best' and not add_best(batch, desc, routes, parts, updates) then updates = NO_UPDATES end
  local players, sets, amounts, times, receiveds, taken, rankeds = unpack(updates)
  read_states(batch, routes, parts, players)
  for _, r in ipairs(batch.rankings) do r.aside = quick and not r.upto and {} or nil end
  for u, player in ipairs(players) do
    local set, amount, time, received, ranked = sets[u], amounts[u], times[u], receiveds[u], rankeds and rankeds[u]
    local positions, expiries, wholes = unpack(routes[taken[u]])
    local changes, restate = ranked and {} or NOTHING, NOTHING
    for i, position in ipairs(positions) do
      local r = batch.rankings[position]
      if r.expiry > 0 and r.expiry <= received then
        -- Its time is over: it begins anew.
        expire(r, 0)
        r.expiry, r.total, r.upto, r.states, r.pruned, r.aside = 0, 0, r.upto and math.huge, {}, nil, r.aside and {}
      end
      if expiries[i] > r.expiry then r.expiry = expiries[i] end
      local score, since, member
      local state = r.states[player]
      if state then score, since, member = state[1], state[2], state[3] end
      local old_score, old_since, old_member = score, since, member
      -- What a player had before who is not kept may be in the ledger only.
      local unknown = r.pruned and not score
      if unknown then
        if restate == NOTHING then restate = {} end
        restate[#restate + 1] = position
        call('SADD', batch.late, r.field .. '\0' .. player)
        score, since = amount, time
      elseif not score then
        score, since = amount, time
      else
        score, since = fold(desc, score, since, set, amount, time, state[4], scale)
        if not score then
          if restate == NOTHING then restate = {} end
          restate[#restate + 1] = position
          call('SADD', batch.late, r.field .. '\0' .. player)
          score, since = old_score, old_since
        end
      end
      local asked = ranked and i <= wholes
      local updated = not unknown and (score ~= old_score or (since ~= old_since and (r.keeps or r.kind == 'composite')))
      local previous = -1
      local rank, unique
      if asked and old_score then
        rank, unique = ranks(r, desc, kind, old_member, old_score)
        previous = rank
      end
      if updated then
        if r.aside then
          member = member_of(r, player, since)
          if r.aside[player] == nil then r.aside[player] = old_member or false end
        else
          member = write(r, player, score, since, old_score, old_member)
        end
        if r.kind == 'plain' and not r.keeps then since = NO_TIME end
        if old_score then
          state[1], state[2], state[3], state[4] = score, since, member, true
        else
          r.states[player] = {score, since, member, true}
          r.total = r.total + 1
        end
        if asked then rank, unique = ranks(r, desc, kind, member, score) end
      end
      if unknown then updated, rank, unique = true, r.total + 1, r.total + 1 end
      if asked then changes[#changes + 1] = {score, updated, previous, rank, unique, r.total + hidden_of(r.pruned)} end
    end
    if changes == NOTHING and restate == NOTHING then
      outcomes[u] = UNEVENTFUL
    else
      outcomes[u], telling = {changes, restate}, true
    end
  end
  if not batch.done then
    for _, r in ipairs(batch.rankings) do
      if r.aside then write_set_aside(r) end
      if r.new or r.expiry ~= r.due or r.upto ~= r.indexed then
        list_entry(batch.list, r.field, r.expiry, r.upto, r.name, r.pruned)
        if r.expiry > 0 then expire(r, r.expiry - now) end
      end
    end
    if batch[12] ~= '' then call('XADD', batch.spool, '*', 'events', batch[12]) end
    call('HSET', batch.marks, writer, upto)
  end
  answers[b] = (telling or batch.done) and outcomes or true
end
return cmsgpack.pack({'ok', answers})
