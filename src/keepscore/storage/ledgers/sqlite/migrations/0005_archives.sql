-- Rankings as they were at some moment. One that is not complete is nobody's.
CREATE TABLE archives (
    id        INTEGER PRIMARY KEY AUTOINCREMENT,
    board     INTEGER NOT NULL,
    window    TEXT    NOT NULL,
    window_id TEXT    NOT NULL,
    segment   TEXT    NOT NULL,
    kind      TEXT    NOT NULL, -- closed, snapshot
    number    INTEGER NOT NULL, -- the revision of a closed window's, the position of a snapshot in its series
    taken     INTEGER NOT NULL,
    players   INTEGER NOT NULL DEFAULT 0, -- in the ranking
    kept      INTEGER NOT NULL DEFAULT 0, -- in the archive
    digest    TEXT    NOT NULL DEFAULT '',
    complete  INTEGER NOT NULL DEFAULT 0,
    UNIQUE (board, window, window_id, segment, kind, number)
);

-- The standings of archived rankings, a row a player, with the three ways to number ranks.
CREATE TABLE snapshots (
    archive  INTEGER NOT NULL,
    rank     INTEGER NOT NULL,
    standard INTEGER NOT NULL,
    dense    INTEGER NOT NULL,
    player   TEXT    NOT NULL,
    score    INTEGER NOT NULL,
    since    INTEGER NOT NULL,
    PRIMARY KEY (archive, rank)
) WITHOUT ROWID;
CREATE UNIQUE INDEX snapshots_by_player ON snapshots (archive, player);

-- The same for people.
CREATE VIEW archived_standings AS
SELECT
    (SELECT b.name FROM boards b WHERE b.id = a.board LIMIT 1) AS board, a.window, a.window_id, a.segment, a.kind, a.number,
    datetime(a.taken / 1000, 'unixepoch') AS taken, a.players, s.rank, s.player, s.score, datetime(s.since / 1000, 'unixepoch') AS since
FROM archives a JOIN snapshots s ON s.archive = a.id
WHERE a.complete;
