-- Named queries of the PostgreSQL ledger for private groups.

-- name: add_group
-- Record a new group.
INSERT INTO player_groups (id, name, owner, code, created) VALUES ($1, $2, $3, $4, $5);

-- name: group_count
-- How many groups there are.
SELECT count(*) FROM player_groups;

-- name: group_by_id
-- A group.
SELECT id, name, owner, code, created FROM player_groups WHERE id = $1;

-- name: group_by_code
-- The group of an invite code.
SELECT id, name, owner, code, created FROM player_groups WHERE code = $1;

-- name: group_members
-- The members of a group, in the order in which they joined.
SELECT player FROM group_members WHERE group_id = $1 ORDER BY joined, player;

-- name: group_member
-- Whether a player is a member.
SELECT 1 FROM group_members WHERE group_id = $1 AND player = $2;

-- name: group_size
-- How many members a group has.
SELECT count(*) FROM group_members WHERE group_id = $1;

-- name: groups_of_player_count
-- How many groups a player is in.
SELECT count(*) FROM group_members WHERE player = $1;

-- name: groups_of_player
-- The groups of a player, with the numbers of their members.
SELECT id, name, owner, code, created, (SELECT count(*) FROM group_members AS others WHERE others.group_id = id) AS size
FROM player_groups WHERE id IN (SELECT group_id FROM group_members WHERE player = $1) ORDER BY name, id;

-- name: join_group
-- Add a member.
INSERT INTO group_members (group_id, player, joined) VALUES ($1, $2, $3);

-- name: leave_group
-- Remove a member.
DELETE FROM group_members WHERE group_id = $1 AND player = $2;

-- name: set_group_owner
-- Make another the owner of a group.
UPDATE player_groups SET owner = $1 WHERE id = $2;

-- name: set_group_code
-- Give a group another invite code.
UPDATE player_groups SET code = $1 WHERE id = $2;

-- name: drop_group
-- Drop a group.
DELETE FROM player_groups WHERE id = $1;

-- name: drop_group_members
-- Drop all members of a group.
DELETE FROM group_members WHERE group_id = $1;

-- name: forget_invite_tries
-- Forget a player's wrong tries up to a moment.
DELETE FROM invite_tries WHERE player = $1 AND at <= $2;

-- name: invite_tries
-- How many wrong tries a player has made, and when the first of them was.
SELECT coalesce(sum(count), 0)::bigint, min(at) FROM invite_tries WHERE player = $1;

-- name: add_invite_try
-- Count a wrong try.
INSERT INTO invite_tries AS known (player, at, count) VALUES ($1, $2, 1)
ON CONFLICT (player, at) DO UPDATE SET count = known.count + 1;

-- name: hold_groups
-- Let one transaction at a time change who is in which group.
SELECT pg_advisory_xact_lock(hashtextextended('groups', 7));
