-- Named queries of the SQLite ledger for private groups.

-- name: add_group
-- Record a new group.
INSERT INTO player_groups (id, name, owner, code, created) VALUES (?, ?, ?, ?, ?);

-- name: group_count
-- How many groups there are.
SELECT count(*) FROM player_groups;

-- name: group_by_id
-- A group.
SELECT id, name, owner, code, created FROM player_groups WHERE id = ?;

-- name: group_by_code
-- The group of an invite code.
SELECT id, name, owner, code, created FROM player_groups WHERE code = ?;

-- name: group_members
-- The members of a group, in the order in which they joined.
SELECT player FROM group_members WHERE group_id = ? ORDER BY joined, player;

-- name: group_member
-- Whether a player is a member.
SELECT 1 FROM group_members WHERE group_id = ? AND player = ?;

-- name: group_size
-- How many members a group has.
SELECT count(*) FROM group_members WHERE group_id = ?;

-- name: groups_of_player_count
-- How many groups a player is in.
SELECT count(*) FROM group_members WHERE player = ?;

-- name: groups_of_player
-- The groups of a player, with the numbers of their members.
SELECT id, name, owner, code, created, (SELECT count(*) FROM group_members AS others WHERE others.group_id = id) AS size
FROM player_groups WHERE id IN (SELECT group_id FROM group_members WHERE player = ?) ORDER BY name, id;

-- name: join_group
-- Add a member.
INSERT INTO group_members (group_id, player, joined) VALUES (?, ?, ?);

-- name: leave_group
-- Remove a member.
DELETE FROM group_members WHERE group_id = ? AND player = ?;

-- name: set_group_owner
-- Make another the owner of a group.
UPDATE player_groups SET owner = ? WHERE id = ?;

-- name: set_group_code
-- Give a group another invite code.
UPDATE player_groups SET code = ? WHERE id = ?;

-- name: drop_group
-- Drop a group.
DELETE FROM player_groups WHERE id = ?;

-- name: drop_group_members
-- Drop all members of a group.
DELETE FROM group_members WHERE group_id = ?;

-- name: forget_invite_tries
-- Forget a player's wrong tries up to a moment.
DELETE FROM invite_tries WHERE player = ? AND at <= ?;

-- name: invite_tries
-- How many wrong tries a player has made, and when the first of them was.
SELECT coalesce(sum(count), 0), min(at) FROM invite_tries WHERE player = ?;

-- name: add_invite_try
-- Count a wrong try.
INSERT INTO invite_tries AS known (player, at, count) VALUES (?, ?, 1)
ON CONFLICT (player, at) DO UPDATE SET count = known.count + 1;
