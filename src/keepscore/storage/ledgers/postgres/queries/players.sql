-- Named queries of the PostgreSQL ledger for players. A name, a line that says what it is for, the query.

-- name: find_players
-- What is, or was, known of some players.
SELECT player, name, profile, version FROM players WHERE player = ANY($1) AND version > 0;

-- name: unsettle_players
-- Note that what is known of some players may not be counted yet.
UPDATE players SET unsettled = $1 WHERE player = ANY($2);

-- name: players_changed
-- The players recorded since a moment, the newest first.
SELECT player, updated FROM players WHERE updated >= $1 ORDER BY updated DESC LIMIT $2;

-- name: add_players
-- Make rows for players of whom nothing is known, so that they can be locked.
INSERT INTO players (player, updated) SELECT player, $2 FROM unnest($1::text[]) AS player ON CONFLICT DO NOTHING;

-- name: lock_players
-- What is known of some players, whom nobody else changes until the transaction ends.
SELECT player, name, profile, version FROM players WHERE player = ANY($1) ORDER BY player FOR UPDATE;

-- name: put_players
-- Record what is known of players.
UPDATE players AS p SET name = n.name, profile = n.profile, sought = n.sought, updated = $5, unsettled = $5, version = p.version + 1
FROM unnest($1::text[], $2::text[], $3::text[], $4::text[]) AS n (player, name, profile, sought) WHERE p.player = n.player;

-- name: unsettled_players
-- Players whose changes may not be counted yet, since a moment or before.
SELECT player, unsettled FROM players WHERE unsettled <= $1 ORDER BY unsettled LIMIT $2;

-- name: settle_players
-- Note that changes are counted, where there were no others.
UPDATE players AS p SET unsettled = NULL FROM unnest($1::text[], $2::bigint[]) AS n (player, unsettled)
WHERE p.player = n.player AND p.unsettled = n.unsettled;

-- name: players_named
-- Players whose sought names lie between two, in order, those behind a name and a player.
SELECT player, sought FROM players WHERE sought >= $1 AND sought < $2 AND (sought, player COLLATE "C") > ($3, $4) ORDER BY sought, player COLLATE "C" LIMIT $5;
