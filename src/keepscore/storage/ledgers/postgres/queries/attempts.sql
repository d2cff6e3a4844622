-- Named queries of the PostgreSQL ledger for refused attempts.

-- name: add_attempts
-- Count attempts of players at moments.
INSERT INTO attempts AS known (board, player, at, count)
SELECT board, player, at, sum(count)
FROM unnest($1::bigint[], $2::text[], $3::bigint[], $4::bigint[]) AS given (board, player, at, count)
GROUP BY board, player, at ORDER BY board, player, at
ON CONFLICT (board, player, at) DO UPDATE SET count = known.count + excluded.count;

-- name: attempts_of_players
-- The attempts of some players on a board from a moment on.
SELECT board, player, at, count FROM attempts WHERE board = $1 AND player = ANY ($2::text[]) AND at >= $3;

-- name: forget_attempts
-- Forget some of the attempts before a moment.
DELETE FROM attempts WHERE (board, player, at) IN (SELECT board, player, at FROM attempts WHERE at < $1 LIMIT $2) RETURNING 1;
