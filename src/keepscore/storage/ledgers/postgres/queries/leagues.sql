-- Named queries of the PostgreSQL ledger for the seasons of leagues.

-- name: open_season
-- Begin a season, if that is not done.
INSERT INTO league_seasons (board, period, starts) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING;

-- name: hold_season
-- Let one transaction at a time change a season; when it was decided.
SELECT decided FROM league_seasons WHERE board = $1 AND period = $2 AND starts = $3 FOR UPDATE;

-- name: league_seasons
-- All seasons of a board.
SELECT board, period, starts, decided FROM league_seasons WHERE board = $1 ORDER BY starts, period;

-- name: league_season
-- A season.
SELECT board, period, starts, decided FROM league_seasons WHERE board = $1 AND period = $2 AND starts = $3;

-- name: placed_members
-- Those of some players who have a cohort, or wait for one.
SELECT player, number FROM league_members WHERE board = $1 AND period = $2 AND starts = $3 AND player = ANY($4::text[]);

-- name: last_seasons
-- The last season of each of some players before a moment.
SELECT DISTINCT ON (player) player, starts, coalesce(next_tier, tier), plays FROM league_members
WHERE board = $1 AND player = ANY($2::text[]) AND starts < $3 ORDER BY player, starts DESC;

-- name: last_cohort
-- The last cohort of a home, and its size.
SELECT number, size FROM league_cohorts WHERE board = $1 AND period = $2 AND starts = $3 AND tier = $4 AND band = $5 ORDER BY number DESC LIMIT 1;

-- name: put_cohort
-- Keep the size of a cohort.
INSERT INTO league_cohorts (board, period, starts, tier, band, number, size)
VALUES ($1, $2, $3, $4, $5, $6, $7)
ON CONFLICT (board, period, starts, tier, band, number) DO UPDATE SET size = league_cohorts.size + excluded.size;

-- name: put_member
-- Add a member, or find a cohort for one.
INSERT INTO league_members (board, period, starts, player, arrived, tier, band, number)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
ON CONFLICT (board, period, starts, player) DO UPDATE SET tier = excluded.tier, band = excluded.band, number = excluded.number
WHERE league_members.number IS NULL;

-- name: roster
-- The members of a cohort, in order of arrival.
SELECT player, tier, band, number, rank, score, since, peak, plays, result, next_tier FROM league_members
WHERE board = $1 AND period = $2 AND starts = $3 AND tier = $4 AND band = $5 AND number = $6 ORDER BY arrived, player;

-- name: waiting_members
-- Members without a cohort, in order of arrival.
SELECT player, arrived FROM league_members WHERE board = $1 AND period = $2 AND starts = $3 AND number IS NULL ORDER BY arrived, player LIMIT $4;

-- name: seasons_of_player
-- The last seasons in which a player took part, the newest first.
SELECT s.board, s.period, s.starts, s.decided, m.player, m.tier, m.band, m.number, m.rank, m.score, m.since, m.peak, m.plays, m.result, m.next_tier
FROM league_members m JOIN league_seasons s USING (board, period, starts)
WHERE m.player = $2 AND m.board = $1 ORDER BY m.starts DESC LIMIT $3;

-- name: cohort_sizes
-- How many members the cohorts of a season have.
SELECT tier, band, number, size FROM league_cohorts WHERE board = $1 AND period = $2 AND starts = $3 AND size > 0 ORDER BY tier, band, number;

-- name: move_members
-- Move the members of one cohort into another.
UPDATE league_members SET band = $7, number = $8
WHERE board = $1 AND period = $2 AND starts = $3 AND tier = $4 AND band = $5 AND number = $6;

-- name: empty_cohort
-- Note that a cohort has no members.
UPDATE league_cohorts SET size = 0 WHERE board = $1 AND period = $2 AND starts = $3 AND tier = $4 AND band = $5 AND number = $6;

-- name: settle_member
-- Record what becomes of a member.
UPDATE league_members SET rank = $5, score = $6, since = $7, peak = $8, plays = $9, result = $10, next_tier = $11
WHERE board = $1 AND period = $2 AND starts = $3 AND player = $4;

-- name: decide_season
-- Let what is recorded of a season count.
UPDATE league_seasons SET decided = $4 WHERE board = $1 AND period = $2 AND starts = $3 AND decided IS NULL;
