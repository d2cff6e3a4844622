-- Named queries of the PostgreSQL ledger for players by address.

-- name: add_addresses
-- Note that players have sent scores from addresses.
INSERT INTO addresses AS a (board, address, player, last) SELECT * FROM unnest($1::int[], $2::text[], $3::text[], $4::bigint[])
ON CONFLICT (board, address, player) DO UPDATE SET last = GREATEST(a.last, excluded.last);

-- name: players_at_address
-- Some of the players who have sent scores to a board from an address.
SELECT player FROM addresses WHERE board = $1 AND address = $2 ORDER BY player LIMIT $3;

-- name: forget_addresses
-- Forget some players who were last seen before a moment.
DELETE FROM addresses WHERE (board, address, player) IN (SELECT board, address, player FROM addresses WHERE last < $1 LIMIT $2)
RETURNING player;
