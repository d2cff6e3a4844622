-- Named queries of the SQLite ledger for players. A name, a line that says what it is for, the query.

-- name: find_players
-- What is known of some players, a list in JSON.
SELECT player, name, profile FROM players WHERE player IN (SELECT value FROM json_each(?)) AND (name IS NOT NULL OR profile IS NOT NULL);

-- name: players_changed
-- The players recorded since a moment, the newest first.
SELECT player, updated FROM players WHERE updated >= ? ORDER BY updated DESC LIMIT ?;

-- name: put_player
-- Record what is known of a player.
INSERT INTO players (player, name, profile, sought, updated, unsettled) VALUES (?, ?, ?, ?, ?, ?)
ON CONFLICT DO UPDATE SET name = excluded.name, profile = excluded.profile, sought = excluded.sought, updated = excluded.updated,
    unsettled = excluded.unsettled;

-- name: unsettled_players
-- Players whose changes may not be counted yet, since a moment or before.
SELECT player, unsettled FROM players WHERE unsettled <= ? ORDER BY unsettled LIMIT ?;

-- name: settle_player
-- Note that a change is counted, unless there was another.
UPDATE players SET unsettled = NULL WHERE player = ? AND unsettled = ?;

-- name: players_named
-- Players whose sought names lie between two, in order, those behind a name and a player.
SELECT player, sought FROM players WHERE sought >= ? AND sought < ? AND (sought, player) > (?, ?) ORDER BY sought, player LIMIT ?;
