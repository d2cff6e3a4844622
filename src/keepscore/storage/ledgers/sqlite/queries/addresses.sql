-- Named queries of the SQLite ledger for players by address.

-- name: add_address
-- Note that a player has sent a score from an address.
INSERT INTO addresses (board, address, player, last) VALUES (?, ?, ?, ?)
ON CONFLICT (board, address, player) DO UPDATE SET last = MAX(last, excluded.last);

-- name: players_at_address
-- Some of the players who have sent scores to a board from an address.
SELECT player FROM addresses WHERE board = ? AND address = ? ORDER BY player LIMIT ?;

-- name: forget_addresses
-- Forget some players who were last seen before a moment.
DELETE FROM addresses WHERE (board, address, player) IN (SELECT board, address, player FROM addresses WHERE last < ? LIMIT ?);
