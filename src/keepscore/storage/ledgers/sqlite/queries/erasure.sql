-- Named queries of the SQLite ledger for players who are erased. A name, a line that says what it is for, the query.

-- name: erasure_boards
-- All boards that there have ever been.
SELECT DISTINCT id FROM boards ORDER BY id;

-- name: erasure_knows
-- Whether anything but events, rankings and answers names a player.
SELECT EXISTS (SELECT 1 FROM players WHERE player = :player)
    OR EXISTS (SELECT 1 FROM friends WHERE player = :player) OR EXISTS (SELECT 1 FROM friends WHERE friend = :player)
    OR EXISTS (SELECT 1 FROM group_members WHERE player = :player) OR EXISTS (SELECT 1 FROM invite_tries WHERE player = :player)
    OR EXISTS (SELECT 1 FROM attempts WHERE player = :player) OR EXISTS (SELECT 1 FROM addresses WHERE player = :player)
    OR EXISTS (SELECT 1 FROM queue WHERE player = :player) OR EXISTS (SELECT 1 FROM appeals WHERE player = :player)
    OR EXISTS (SELECT 1 FROM prize_holds WHERE player = :player) OR EXISTS (SELECT 1 FROM rewards WHERE player = :player)
    OR EXISTS (SELECT 1 FROM league_members WHERE player = :player);

-- name: erasure_has_archived
-- Whether archives or states of a board name a player.
SELECT EXISTS (SELECT 1 FROM archives a JOIN snapshots s ON s.archive = a.id WHERE a.board = :board AND s.player = :player)
    OR EXISTS (SELECT 1 FROM openings o JOIN opening_states s USING (board, number) WHERE o.board = :board AND s.player = :player)
    OR EXISTS (SELECT 1 FROM rankings JOIN standings s USING (board, window, window_id, segment)
               WHERE board = :board AND s.player = :player);

-- name: erasure_rewards_due
-- How many rewards of a player are on their way.
SELECT count(*) FROM rewards WHERE player = ? AND state = 'pending';

-- name: erase_event
-- Put a pseudonym in the place of an event's player, and remove what is known of the person.
UPDATE events SET player = ?, game_id = ?, metadata = ?, build = NULL, address = NULL WHERE board = ? AND writer = ? AND n = ?;

-- name: erase_named
-- Change what an event of somebody else says.
UPDATE events SET metadata = ? WHERE board = ? AND writer = ? AND n = ?;

-- name: erase_indexed
-- Take a player's events out of the index.
DELETE FROM events_by_player WHERE board = ? AND player = ?;

-- name: erase_archived
-- Put a pseudonym in the place of a player in archives.
UPDATE snapshots SET player = :pseudonym WHERE player = :player AND archive IN (
    SELECT id FROM archives WHERE board = :board AND NOT EXISTS (SELECT 1 FROM snapshots s WHERE s.archive = id AND s.player = :pseudonym)
);

-- name: erase_standings
-- Put a pseudonym in the place of a player in checkpointed states.
UPDATE standings SET player = :pseudonym WHERE player = :player AND board = :board AND (window, window_id, segment) IN (
    SELECT window, window_id, segment FROM rankings WHERE board = :board
);

-- name: erase_openings
-- Put a pseudonym in the place of a player in what is left of dropped events.
UPDATE opening_states SET player = :pseudonym
WHERE board = :board AND player = :player AND number IN (SELECT number FROM openings WHERE board = :board);

-- name: erase_queue
-- Put a pseudonym in the place of a player in the queue, and remove texts.
UPDATE queue SET player = :pseudonym, reason = CASE WHEN reason IS NOT NULL THEN :erased END WHERE board = :board AND player = :player;

-- name: erase_appeals
-- Put a pseudonym in the place of a player in appeals, and remove texts.
UPDATE appeals SET player = :pseudonym, text = :erased, reply = CASE WHEN reply IS NOT NULL THEN :erased END
WHERE board = :board AND player = :player;

-- name: erase_holds
-- Put a pseudonym in the place of a player whose reward is held back, and remove the reason.
UPDATE prize_holds SET player = :pseudonym, reason = :erased WHERE board = :board AND player = :player;

-- name: erase_messages
-- Put a pseudonym in the place of a player in messages about rewards.
UPDATE outbox SET body = replace(body, :old, :new) WHERE id IN (SELECT id FROM rewards WHERE board = :board AND player = :player);

-- name: erase_rewards
-- Put a pseudonym in the place of a player in rewards.
UPDATE rewards SET player = :pseudonym WHERE board = :board AND player = :player;

-- name: erase_seasons
-- Put a pseudonym in the place of a player in seasons of leagues.
UPDATE league_members SET player = :pseudonym WHERE board = :board AND player = :player;

-- name: erase_attempts
-- Remove a player's refused submissions.
DELETE FROM attempts WHERE board = :board AND player = :player;

-- name: erase_addresses
-- Remove where a player's scores came from.
DELETE FROM addresses WHERE board = :board AND player = :player;

-- name: drop_states_of
-- Drop the checkpointed states of a player on a board.
DELETE FROM standings WHERE player = :player AND board = :board AND (window, window_id, segment) IN (
    SELECT window, window_id, segment FROM rankings WHERE board = :board
);

-- name: erase_profile
-- Remove a profile.
DELETE FROM players WHERE player = ?;

-- name: erase_friends
-- Take a player off all lists.
DELETE FROM friends WHERE player = ?1 OR friend = ?1;

-- name: erase_invite_tries
-- Remove a player's wrong tries of invite codes.
DELETE FROM invite_tries WHERE player = ?;

-- name: answers_that_name
-- The finished keys whose rows name a player.
SELECT kind, target, key, answer FROM idempotency
WHERE owner IS NULL AND (target = :player OR instr(key, :player) OR instr(answer, CAST(:quoted AS BLOB)));

-- name: erase_answer
-- Keep another answer for retries.
UPDATE idempotency SET answer = ? WHERE kind = ? AND target = ? AND key = ?;

-- name: drop_answer
-- Forget a key.
DELETE FROM idempotency WHERE kind = ? AND target = ? AND key = ?;
