-- Named queries of the SQLite ledger for friends.

-- name: friends_of
-- The friends on a player's own list.
SELECT friend FROM friends WHERE player = ? ORDER BY friend;

-- name: mutual_friends_of
-- The friends of a player, whoever has the other on the list.
SELECT friend FROM friends WHERE player = ?1 UNION SELECT player FROM friends WHERE friend = ?1 ORDER BY 1;

-- name: add_friend
-- Put a friend on a player's list.
INSERT INTO friends (player, friend, since) VALUES (?, ?, ?) ON CONFLICT DO NOTHING;

-- name: drop_friend
-- Take a friend off a player's list.
DELETE FROM friends WHERE player = ? AND friend = ?;
