-- Rankings as they were at some moment. One that is not complete is nobody's.
CREATE TABLE archives (
    id        bigint  GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    board     integer NOT NULL,
    "window"  text    NOT NULL COLLATE "C",
    window_id text    NOT NULL COLLATE "C",
    segment   text    NOT NULL COLLATE "C",
    kind      text    NOT NULL, -- closed, snapshot
    number    bigint  NOT NULL, -- the revision of a closed window's, the position of a snapshot in its series
    taken     bigint  NOT NULL,
    players   bigint  NOT NULL DEFAULT 0, -- in the ranking
    kept      bigint  NOT NULL DEFAULT 0, -- in the archive
    digest    text    NOT NULL DEFAULT '',
    complete  boolean NOT NULL DEFAULT false,
    UNIQUE (board, "window", window_id, segment, kind, number)
);

-- The standings of archived rankings, a row a player, with the three ways to number ranks.
CREATE TABLE snapshots (
    archive  bigint NOT NULL,
    rank     bigint NOT NULL,
    standard bigint NOT NULL,
    dense    bigint NOT NULL,
    player   text   NOT NULL COLLATE "C",
    score    bigint NOT NULL,
    since    bigint NOT NULL,
    PRIMARY KEY (archive, rank)
);
CREATE UNIQUE INDEX snapshots_by_player ON snapshots (archive, player);

-- The same for people.
CREATE VIEW archived_standings AS
SELECT
    (SELECT b.name FROM boards b WHERE b.id = a.board LIMIT 1) AS board, a."window", a.window_id, a.segment, a.kind, a.number,
    to_timestamp(a.taken / 1000.0) AS taken, a.players, s.rank, s.player, s.score, to_timestamp(s.since / 1000.0) AS since
FROM archives a JOIN snapshots s ON s.archive = a.id
WHERE a.complete;
