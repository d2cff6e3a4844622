-- The operators: how one event changes a player's state. No other script knows them; `scoring.py` says the same in Python.
--
-- An operator is a table:
--   fold         what `fold(desc, score, since, set, amount, time, scale, where)` returns is the new score and time, or nothing where
--                the player has to be restated; `where` is what `place` says
--   is_ordered   the order of a player's events matters
--   keeps_best   of two numbers that tell score and time, the one that is ahead is the fold

-- Add two levels as decay.py does, operation by operation.
local WORTHLESS, LN2 = -LARGEST, math.log(2)
local function added(a, b, scale)
  if a < b then a, b = b, a end
  if b == WORTHLESS then return a end
  return a + floor(math.log(1 + 2 ^ ((b - a) / scale)) / LN2 * scale + 0.5)
end

-- Where an event belongs beside a state, as scoring.py says: 'later' than all of it, 'earlier' than what gave it its time, or nothing:
-- only the ledger can tell.
local function place(batch, since, time, at, received)
  if at ~= received then
    if time == since then return nil end
    return time > since and 'later' or 'earlier'
  end
  if not batch.is_next then return nil end
  return (time > since or since > batch.told) and 'later' or nil
end

local operators = {best = {keeps_best = true}, sum = {}, first = {is_ordered = true}, last = {is_ordered = true}}

function operators.best.fold(desc, score, since, set, amount, time)
  local better = amount > score
  if not desc then better = amount < score end
  if better or (amount == score and time < since) then return amount, time end
  return score, since
end

function operators.sum.fold(desc, score, since, set, amount, time, scale)
  return scale and added(score, amount, scale) or score + amount, math.max(since, time)
end

function operators.first.fold(desc, score, since, set, amount, time, scale, where)
  if where == 'later' then return score, since end
  if where == 'earlier' then return amount, time end
end

function operators.last.fold(desc, score, since, set, amount, time, scale, where)
  if where ~= 'later' then return nil end
  return set and amount or scale and added(score, amount, scale) or score + amount, math.max(since, time)
end
