-- Named queries of the SQLite ledger for players. A name, a line that says what it is for, the query.

-- name: players
-- The players recorded since a moment.
SELECT player, name FROM players WHERE updated >= ?;

-- name: put_player
-- Record what is known of a player.
INSERT INTO players (player, name, updated) VALUES (?, ?, ?)
ON CONFLICT DO UPDATE SET name = excluded.name, updated = excluded.updated;
