-- Apply batches of events, all of them or none.
--
-- KEYS     for each batch: watermarks, list of rankings, spool, late players, positions; then for each of its rankings: key, times, dense
-- ARGV[1]  msgpack: {now, batches, probing}; probing: nothing stays of it, see probe.lua. A batch is {epoch, writer, after, upto,
--          operator, desc, rank, rankings, routes, updates, scale, what the spool gets or '', numbers, place}:
--            ranking  {form, field, name of the key}
--            route    {positions in rankings, expiries, how many of them are wholes}
--            updates  columns: {players, whether it is a set ('restate': only the ledger knows the new state), amounts, ats, receiveds,
--                     routes, whether ranks are asked for, or false where that is so for none}
--            scale    units of a doubling where scores and amounts are levels, on a board with decay; else false
--            place    {a new life, the server} to count changes with, or false: nobody counts
--            numbers  {the ledger's numbers of the first and the last event}, or false: they have none yet, and are the latest
-- Answers  msgpack: {'ok', told of each batch} · {'gap', batch, applied or -1} · {'type', key, type} · {'dense', batch, rankings}
--          {'taken', batch, ranking}: its key holds what Keepscore has not made; such segments are left out
--            told     {for each ranking the columns of apply_ranked.lua, with a row for each update that asks for ranks, or false;
--                     who has to be restated: update, ranking, update, ranking, …; the board's life; which rankings changed, and
--                     what their positions are: ranking, seq, ranking, seq, …}
--                     true: there is nothing to tell · false: the batch was applied before
-- Cost     O(log N) for each event and ranking. Everything is checked before the first write, and a board whose rankings are being
--          written has no epoch: where the script fails midway, or a ranking is lost, the board is rebuilt.
-- Needs    changes.lua apply_best.lua apply_together.lua apply_ranked.lua
--
-- Why there are three paths
--
-- A ranking gets its updates on one of three paths. All of them give the same states. They differ in what they cost and in what they
-- can tell. A command that a script calls takes Redis about half a microsecond beside its work, so what counts is how many commands
-- there are for each update.
--
--   apply_best      One command for 500 updates, and nothing is read: Redis compares the numbers itself (ZADD GT or LT). That is the
--                   fold of `best` only, and only where a number tells score and time, or times do not matter. Games send scores this
--                   way in bulk, and most of them change nothing.
--   apply_together  Two to four commands for hundreds of players, and a fold in Lua for each update. For all operators and layouts.
--                   Only the state after a player's last update is written, so nobody can ask for ranks on the way, and no index of
--                   scores can follow: it has to see each score come and go.
--   apply_ranked    Three commands for each update: the rank before, the write, the rank after. A submission tells the ranks of its own
--                   moment, whoever came along in the group.
--
-- The path is chosen for each ranking, as rankings know nothing of each other: a group of single submissions asks for ranks in the wholes
-- of its windows, and the segments take a cheaper path.

local now, batches, probing = unpack(cmsgpack.unpack(ARGV[1]))

-- Check one ranking of a batch. Answers what is wrong with it, if something is, as the script does.
local function check_ranking(batch, r, b)
  local key, kind = misfit({r.key, r.times, r.dense}, RANKING_TYPES, 2)
  if key then return {'type', key, kind} end
  local listed
  r.expiry, r.upto, listed, r.pruned, r.counted = entry(batch.list, r.field)
  r.due, r.indexed = r.expiry, r.upto
  r.total = size_of(r)
  r.is_taken = r.counted == TAKEN and r.total ~= 0
  if r.is_taken then
    if string.sub(r.field, -1) == '\0' then return {'taken', b, r.position} end
    r.total = 0
  elseif is_lost(r, r.total, r.expiry, listed, r.counted, now) or not (listed or is_there(batch.list)) then
    break_up(batch.marks)
    return {'gap', b, -1}
  end
  r.is_new = r.total == 0
  r.before, r.players = r.total, r.is_new and 0 or r.counted or r.total
  r.tells_time = r.keeps or r.kind == 'composite'
  r.upto = indexed(r, r.upto, r.total)
  -- All scores of nobody are indexed.
  if r.is_new and (r.upto or batch.rank == 'dense') then r.upto = math.huge end
end

-- A batch by names, whose keys begin at `at`.
local function named(given, at)
  local updates = given[10]
  return {
    epoch = given[1], writer = given[2], after = given[3], upto = given[4], operator = operators[given[5]], desc = given[6],
    rank = given[7], rankings = {}, routes = given[9], scale = given[11], spooled = given[12], numbers = given[13], place = given[14],
    players = updates[1], sets = updates[2], amounts = updates[3], ats = updates[4], receiveds = updates[5], taken = updates[6],
    asked = updates[7], marks = KEYS[at], list = KEYS[at + 1], spool = KEYS[at + 2], late = KEYS[at + 3], positions = KEYS[at + 4], restates = {},
  }
end

-- Check a batch whose keys begin at `at`, and its rankings. Answers what is wrong.
local function check_batch(batch, rankings, b, at)
  local key, kind = misfit({batch.marks, batch.list, batch.spool, batch.late}, BOARD_TYPES)
  if not key then key, kind = misfit({batch.positions}, {'hash'}) end
  if key then return {'type', key, kind} end
  local found = call('HMGET', batch.marks, 'epoch', batch.writer, 'order')
  if found[1] ~= batch.epoch then return {'gap', b, -1} end
  local applied = mark_of(found[2]) or 0
  batch.is_done = applied >= batch.upto
  if applied ~= batch.after and not batch.is_done then return {'gap', b, applied} end
  batch.order, batch.told = order_of(found[3])
  local unready = {}
  for i, given in ipairs(rankings) do
    local r = ranking(KEYS, at + 2 + 3 * i, given[1])
    r.field, r.name, r.position = given[2], given[3], i
    local wrong = check_ranking(batch, r, b)
    if wrong then return wrong end
    if batch.rank == 'dense' and r.upto ~= math.huge then unready[#unready + 1] = i end
    batch.rankings[i] = r
  end
  if #unready > 0 and not batch.is_done then return {'dense', b, unready} end
end

-- Find the updates of each ranking: `own` are their numbers, `expiries` when it may be dropped, by route.
local function spread(batch)
  local all, parts, routes = {}, {}, {}
  for _, r in ipairs(batch.rankings) do r.expiries, routes[r] = {}, {} end
  for n, route in ipairs(batch.routes) do
    parts[n] = {}
    for i, position in ipairs(route[1]) do
      local r = batch.rankings[position]
      r.expiries[n], r.is_whole = route[2][i], i <= route[3]
      routes[r][#routes[r] + 1] = n
    end
  end
  for u, n in ipairs(batch.taken) do
    if batch.sets[u] == 'restate' then
      for _, position in ipairs(batch.routes[n][1]) do
        if not batch.rankings[position].is_taken then restate(batch, batch.rankings[position], u) end
      end
    else
      all[#all + 1] = u
      parts[n][#parts[n] + 1] = u
    end
  end
  for r, ways in pairs(routes) do
    if #ways == #parts then r.own = all
    elseif #ways == 1 then r.own = parts[ways[1]]
    else
      r.own = {}
      for _, n in ipairs(ways) do
        for _, u in ipairs(parts[n]) do r.own[#r.own + 1] = u end
      end
      table.sort(r.own)
    end
  end
end

-- What the order of events needs to know: the latest time that a client has given, and whether this batch is the next one.
local function look_at_order(batch)
  for u, at in ipairs(batch.ats) do
    if at ~= batch.receiveds[u] and at > batch.told and batch.sets[u] ~= 'restate' then batch.told = at end
  end
  -- Batches with one number are parts of one group.
  batch.is_next = not batch.numbers or (batch.numbers[1] >= batch.order and batch.numbers[1] > 0)
end

-- Put the updates of a ranking into it, on the cheapest path there is. Returns what is reported about them.
local function apply_to(batch, r)
  if batch.asked and r.is_whole then return apply_ranked(batch, r) end
  if can_add_best(batch, r) then
    apply_best(batch, r)
  elseif r.upto then
    return apply_ranked(batch, r)
  else
    apply_together(batch, r)
  end
  return false
end

-- Let the list know what has become of a ranking, and its keys when they expire.
local function finish(batch, r)
  local players = r.players + r.total - r.before
  local is_moved = r.is_new or r.expiry ~= r.due or r.upto ~= r.indexed
  if not is_moved and players == r.counted then return end
  list_entry(batch.list, r.field, r.expiry, r.upto, r.name, r.pruned, players)
  if is_moved and r.expiry > 0 then expire(r, r.expiry - now) end
end

local function apply(batch)
  break_up(batch.marks)
  spread(batch)
  if batch.operator.is_ordered then look_at_order(batch) end
  local told, is_telling, changed, fields = {}, false, {}, {}
  for i, r in ipairs(batch.rankings) do
    told[i] = false
    if not r.is_taken and #r.own > 0 then
      told[i] = apply_to(batch, r)
      is_telling = is_telling or told[i]
      finish(batch, r)
      if r.is_changed then changed[#changed + 1], fields[#fields + 1] = i, r.field end
    end
  end
  if batch.spooled ~= '' then call('XADD', batch.spool, '*', 'events', batch.spooled) end
  if batch.operator.is_ordered then set_order(batch.marks, math.max(batch.order, batch.numbers and batch.numbers[2] or 0), batch.told) end
  local life, seqs = move(batch.positions, batch.place, fields)
  call('HSET', batch.marks, 'epoch', batch.epoch, batch.writer, batch.upto)
  if seqs[1] then
    local moved = {}
    for i, seq in ipairs(seqs) do moved[2 * i - 1], moved[2 * i] = changed[i], seq end
    return {is_telling and told, batch.restates, life, moved}
  end
  if is_telling or batch.restates[1] then return {is_telling and told, batch.restates, '', {}} end
  return true
end

local at = 1
for b, given in ipairs(batches) do
  batches[b] = named(given, at)
  local wrong = check_batch(batches[b], given[8], b, at)
  if wrong then return cmsgpack.pack(wrong) end
  at = at + 5 + 3 * #given[8]
end
local answers = {}
for b, batch in ipairs(batches) do answers[b] = not batch.is_done and apply(batch) end
if probing then call('DEL', unpack(KEYS)) end
return cmsgpack.pack({'ok', answers})
