-- Named queries of the SQLite ledger for players. A name, a line that says what it is for, the query.

-- name: find_players
-- What is, or was, known of some players, a list in JSON.
SELECT player, name, profile, version FROM players WHERE player IN (SELECT value FROM json_each(?)) AND version > 0;

-- name: stale_profiles
-- Those of some players whose profiles have other versions, an object in JSON.
SELECT given.key FROM json_each(?) AS given LEFT JOIN players ON player = given.key WHERE COALESCE(version, 0) <> given.value;

-- name: unsettle_players
-- Note that what is known of some players, a list in JSON, may not be counted yet.
UPDATE players SET unsettled = ? WHERE player IN (SELECT value FROM json_each(?));

-- name: players_changed
-- The players recorded since a moment, the newest first.
SELECT player, updated FROM players WHERE updated >= ? ORDER BY updated DESC LIMIT ?;

-- name: put_player
-- Record what is known of a player.
INSERT INTO players (player, name, profile, sought, updated, unsettled, version) VALUES (?, ?, ?, ?, ?, ?, 1)
ON CONFLICT DO UPDATE SET name = excluded.name, profile = excluded.profile, sought = excluded.sought, updated = excluded.updated,
    unsettled = excluded.unsettled, version = players.version + 1;

-- name: unsettled_players
-- Players whose changes may not be counted yet, since a moment or before.
SELECT player, unsettled FROM players WHERE unsettled <= ? ORDER BY unsettled LIMIT ?;

-- name: settle_player
-- Note that a change is counted, unless there was another.
UPDATE players SET unsettled = NULL WHERE player = ? AND unsettled = ?;

-- name: players_named
-- Players whose sought names lie between two, in order, those behind a name and a player.
SELECT player, sought FROM players WHERE sought >= ? AND sought < ? AND (sought, player) > (?, ?) ORDER BY sought, player LIMIT ?;
