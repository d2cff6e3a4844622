-- Named queries of the PostgreSQL ledger for friends.

-- name: friends_of
-- The friends on a player's own list.
SELECT friend FROM friends WHERE player = $1 ORDER BY friend;

-- name: mutual_friends_of
-- The friends of a player, whoever has the other on the list.
SELECT friend FROM friends WHERE player = $1 UNION SELECT player FROM friends WHERE friend = $1 ORDER BY 1;

-- name: hold_friends
-- Let one transaction at a time change a player's list.
SELECT pg_advisory_xact_lock(hashtextextended($1, 7));

-- name: add_friends
-- Put friends on a player's list.
INSERT INTO friends (player, friend, since) SELECT $1, friend, $3 FROM unnest($2::text[]) AS friend ON CONFLICT DO NOTHING;

-- name: drop_friends
-- Take friends off a player's list.
DELETE FROM friends WHERE player = $1 AND friend = ANY ($2::text[]);

-- name: drop_mutual_friends
-- End friendships, whoever has the other on the list.
DELETE FROM friends WHERE (player = $1 AND friend = ANY ($2::text[])) OR (friend = $1 AND player = ANY ($2::text[]));

-- name: befriended_most
-- Somebody of some players who has more than so many mutual friends.
SELECT given.player FROM unnest($1::text[]) AS given (player)
WHERE (
    SELECT count(*) FROM (
        SELECT friend FROM friends WHERE player = given.player UNION SELECT player FROM friends WHERE friend = given.player
    ) AS both_ways
) > $2 ORDER BY 1 LIMIT 1;
