-- Named queries of the PostgreSQL ledger for score events. A name, a line that says what it is for, the query.

-- name: skip_lost
-- Let events follow whose predecessors are gone, with an older ledger that has come back.
INSERT INTO positions AS p (board, writer, before, n) SELECT board, writer, n, n FROM unnest($1::int[], $2::int[], $3::bigint[]) AS s (board, writer, n)
ON CONFLICT (board, writer) DO UPDATE SET before = excluded.before, n = excluded.n WHERE p.n < excluded.n;

-- name: recorded
-- How far some writers are on some boards.
SELECT board, writer, n FROM positions WHERE writer = ANY($1::int[]);

-- name: append
-- Record events, idempotency keys, the answers of earlier keys and items of the queue. Where a key was claimed before, it is told, and nothing recorded.
-- The same for a profile that has another version than the one that the events were planned with.
-- A number that does not follow the writer's last one makes the position null, which is refused with everything else.
-- What all events share only the first of them has, numbers that follow one another begin with the first, and a time may be that of arrival.
-- All events get one number of the ledger, which is told with each known key, or alone.
WITH numbered AS MATERIALIZED (
    SELECT nextval('event_seq') AS seq
), known AS (
    SELECT i.kind, i.target, i.key, i.fingerprint, i.answer, i.owner, i.beats
    FROM unnest($13::text[], $14::text[], $15::text[]) AS c (kind, target, key)
    JOIN idempotency i ON i.kind = c.kind AND i.target = c.target AND i.key = c.key
), stale AS MATERIALIZED (
    SELECT given.player FROM unnest($25::text[], $26::bigint[]) AS given (player, version)
    LEFT JOIN players p ON p.player = given.player WHERE COALESCE(p.version, 0) <> given.version
), refused AS MATERIALIZED (
    SELECT 1 FROM known UNION ALL SELECT 1 FROM stale
), claimed AS (
    INSERT INTO idempotency (kind, target, key, fingerprint, answer, created)
    SELECT *, COALESCE(($8::bigint[])[1], 0) FROM unnest($13::text[], $14::text[], $15::text[], $16::bytea[], $17::bytea[])
    WHERE NOT EXISTS (SELECT FROM refused) ORDER BY 1, 2, 3
), answered AS (
    UPDATE idempotency i SET answer = a.answer
    FROM unnest($18::text[], $19::text[], $20::text[], $21::bytea[]) AS a (kind, target, key, answer)
    WHERE i.kind = a.kind AND i.target = a.target AND i.key = a.key AND NOT EXISTS (SELECT FROM refused)
), queued AS (
    INSERT INTO queue (id, board, player, kind, amount, at, received, is_held, reasons, events, state)
    SELECT *, 'open'
    FROM jsonb_to_recordset($22::jsonb) AS q (id text, board int, player text, kind text, amount bigint, at bigint, received bigint,
                                              is_held boolean, reasons text, events text)
    WHERE NOT EXISTS (SELECT FROM refused)
), recorded AS (
    INSERT INTO events (board, writer, n, player, kind, amount, at, received, segments, game_id, metadata, scope, build, address, seq)
    SELECT COALESCE(board, ($1::int[])[1]), COALESCE(writer, ($2::int[])[1]), COALESCE(n, ($3::bigint[])[1] + place - 1), player,
           COALESCE(kind, ($5::text[])[1]), amount, COALESCE(at, received, ($8::bigint[])[1]), COALESCE(received, ($8::bigint[])[1]),
           segments::jsonb, game_id, metadata::json, scope::jsonb, build, address, (SELECT seq FROM numbered)
    FROM unnest($1::int[], $2::int[], $3::bigint[], $4::text[], $5::text[], $6::bigint[], $7::bigint[], $8::bigint[], $9::text[],
                $10::text[], $11::text[], $12::text[], $23::text[], $24::text[])
         WITH ORDINALITY AS e (board, writer, n, player, kind, amount, at, received, segments, game_id, metadata, scope, build, address,
                               place)
    WHERE NOT EXISTS (SELECT FROM refused)
    RETURNING board, writer, n
), moved AS (
    INSERT INTO positions AS p (board, writer, before, n)
    SELECT board, writer, MIN(n) - 1, CASE WHEN MAX(n) - MIN(n) + 1 = COUNT(*) THEN MAX(n) END FROM recorded GROUP BY board, writer
    ON CONFLICT (board, writer) DO UPDATE SET before = excluded.before, n = CASE WHEN p.n = excluded.before THEN excluded.n END
)
SELECT seq, kind, target, key, fingerprint, answer, owner, beats, stale.player AS stale
FROM numbered LEFT JOIN known ON true LEFT JOIN stale ON true;

-- name: next_seq
-- A number that is higher than that of any event which is recorded.
SELECT nextval('event_seq');

-- name: seqs
-- The numbers of some writers' last events on a board up to a position each.
SELECT p.writer, COALESCE(e.seq, 0) FROM unnest($2::int[], $3::bigint[]) AS p (writer, n)
CROSS JOIN LATERAL (SELECT seq FROM events WHERE board = $1 AND writer = p.writer AND n <= p.n ORDER BY n DESC LIMIT 1) e;

-- name: events_of_writer
-- A writer's events on a board behind a position.
SELECT board, writer, n, player, kind, amount, at, received, segments, game_id, metadata, seq, scope, build, address
FROM events WHERE board = $1 AND writer = $2 AND n > $3 ORDER BY n LIMIT $4;

-- name: events_of_players
-- The events of some players on a board.
SELECT board, writer, n, player, kind, amount, at, received, segments, game_id, metadata, seq, scope, build, address
FROM events WHERE board = $1 AND player = ANY ($2::text[]) ORDER BY writer, n;

-- name: positions
-- The last event of each writer on a board.
SELECT writer, n FROM positions WHERE board = $1 ORDER BY writer;

-- name: events_between
-- Whether a board has an event of a time, or had one maybe that was dropped.
SELECT EXISTS (SELECT 1 FROM events WHERE board = $1 AND at >= $2 AND at < $3)
    OR EXISTS (SELECT 1 FROM openings WHERE board = $1 AND complete AND at > $2 AND first < $3);

-- name: first_event
-- The time of a board's earliest event, dropped ones included.
SELECT LEAST((SELECT MIN(at) FROM events WHERE board = $1), (SELECT MIN(first) FROM openings WHERE board = $1 AND complete));
