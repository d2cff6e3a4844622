-- Named queries of the PostgreSQL ledger for players who are erased. A name, a line that says what it is for, the query.

-- name: erasure_boards
-- All boards that there have ever been.
SELECT DISTINCT id FROM boards ORDER BY id;

-- name: erasure_knows
-- Whether anything but events, rankings and answers names a player.
SELECT EXISTS (SELECT 1 FROM players WHERE player = $1)
    OR EXISTS (SELECT 1 FROM friends WHERE player = $1) OR EXISTS (SELECT 1 FROM friends WHERE friend = $1)
    OR EXISTS (SELECT 1 FROM group_members WHERE player = $1) OR EXISTS (SELECT 1 FROM invite_tries WHERE player = $1)
    OR EXISTS (SELECT 1 FROM attempts WHERE player = $1) OR EXISTS (SELECT 1 FROM addresses WHERE player = $1)
    OR EXISTS (SELECT 1 FROM queue WHERE player = $1) OR EXISTS (SELECT 1 FROM appeals WHERE player = $1)
    OR EXISTS (SELECT 1 FROM prize_holds WHERE player = $1) OR EXISTS (SELECT 1 FROM rewards WHERE player = $1)
    OR EXISTS (SELECT 1 FROM league_members WHERE player = $1);

-- name: erasure_has_archived
-- Whether archives or states of a board name a player.
SELECT EXISTS (SELECT 1 FROM archives a JOIN snapshots s ON s.archive = a.id WHERE a.board = $1 AND s.player = $2)
    OR EXISTS (SELECT 1 FROM openings o JOIN opening_states s USING (board, number) WHERE o.board = $1 AND s.player = $2)
    OR EXISTS (SELECT 1 FROM rankings r JOIN standings s USING (board, "window", window_id, segment) WHERE board = $1 AND s.player = $2);

-- name: erasure_rewards_due
-- How many rewards of a player are on their way.
SELECT count(*) FROM rewards WHERE player = $1 AND state = 'pending';

-- name: events_to_erase
-- The events of some players on a board.
SELECT player, writer, n, received, kind, game_id, metadata FROM events WHERE board = $1 AND player = ANY ($2::text[]);

-- name: erase_events
-- Put a pseudonym in the place of the player of events, and remove what is known of the person.
UPDATE events e SET player = $2, game_id = g.game_id, metadata = g.metadata::json, build = NULL, address = NULL
FROM unnest($3::integer[], $4::bigint[], $5::bigint[], $6::text[], $7::text[]) AS g (writer, n, received, game_id, metadata)
WHERE e.board = $1 AND e.writer = g.writer AND e.n = g.n AND e.received = g.received;

-- name: erase_named
-- Change what events of others say.
UPDATE events e SET metadata = g.metadata::json
FROM unnest($2::integer[], $3::bigint[], $4::bigint[], $5::text[]) AS g (writer, n, received, metadata)
WHERE e.board = $1 AND e.writer = g.writer AND e.n = g.n AND e.received = g.received;

-- name: erase_archived
-- Put a pseudonym in the place of a player in archives.
UPDATE snapshots SET player = $3 WHERE player = $2 AND archive IN (
    SELECT id FROM archives WHERE board = $1 AND NOT EXISTS (SELECT 1 FROM snapshots s WHERE s.archive = id AND s.player = $3)
);

-- name: erase_standings
-- Put a pseudonym in the place of a player in checkpointed states.
UPDATE standings SET player = $3 WHERE board = $1 AND player = $2 AND ("window", window_id, segment) IN (
    SELECT "window", window_id, segment FROM rankings WHERE board = $1
);

-- name: erase_openings
-- Put a pseudonym in the place of a player in what is left of dropped events.
UPDATE opening_states SET player = $3 WHERE board = $1 AND player = $2 AND number IN (SELECT number FROM openings WHERE board = $1);

-- name: erase_queue
-- Put a pseudonym in the place of a player in the queue, and remove texts.
UPDATE queue SET player = $3, reason = CASE WHEN reason IS NOT NULL THEN 'erased' END WHERE board = $1 AND player = $2;

-- name: erase_appeals
-- Put a pseudonym in the place of a player in appeals, and remove texts.
UPDATE appeals SET player = $3, text = 'erased', reply = CASE WHEN reply IS NOT NULL THEN 'erased' END WHERE board = $1 AND player = $2;

-- name: erase_holds
-- Put a pseudonym in the place of a player whose reward is held back, and remove the reason.
UPDATE prize_holds SET player = $3, reason = 'erased' WHERE board = $1 AND player = $2;

-- name: erase_messages
-- Put a pseudonym in the place of a player in messages about rewards.
UPDATE outbox SET body = replace(body, $3, $4) WHERE id IN (SELECT id FROM rewards WHERE board = $1 AND player = $2);

-- name: erase_seasons
-- Put a pseudonym in the place of a player in seasons of leagues.
UPDATE league_members SET player = $3 WHERE board = $1 AND player = $2;

-- name: erase_rewards
-- Put a pseudonym in the place of a player in rewards.
UPDATE rewards SET player = $3 WHERE board = $1 AND player = $2;

-- name: erase_attempts
-- Remove a player's refused submissions.
DELETE FROM attempts WHERE board = $1 AND player = $2;

-- name: erase_addresses
-- Remove where a player's scores came from.
DELETE FROM addresses WHERE board = $1 AND player = $2;

-- name: drop_states_of
-- Drop the checkpointed states of a player on a board.
DELETE FROM standings WHERE board = $1 AND player = $2 AND ("window", window_id, segment) IN (
    SELECT "window", window_id, segment FROM rankings WHERE board = $1
);

-- name: erase_profile
-- Remove a profile.
DELETE FROM players WHERE player = $1;

-- name: erase_friends
-- Take a player off all lists.
DELETE FROM friends WHERE player = $1 OR friend = $1;

-- name: erase_invite_tries
-- Remove a player's wrong tries of invite codes.
DELETE FROM invite_tries WHERE player = $1;

-- name: answers_that_name
-- The finished keys whose rows name a player.
SELECT kind, target, key, answer FROM idempotency
WHERE owner IS NULL AND (target = $1 OR strpos(key, $1) > 0 OR position($2::bytea IN answer) > 0);

-- name: erase_answer
-- Keep another answer for retries.
UPDATE idempotency SET answer = $1 WHERE kind = $2 AND target = $3 AND key = $4;

-- name: drop_answer
-- Forget a key.
DELETE FROM idempotency WHERE kind = $1 AND target = $2 AND key = $3;
