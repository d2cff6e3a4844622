-- Boards, events, idempotency, checkpoints, profiles. Times are milliseconds since 1970, UTC.

-- Every version of every definition. `id` is one life of a board: deleted and made again, it gets another.
CREATE TABLE boards (
    id         INTEGER NOT NULL,
    version    INTEGER NOT NULL,
    meaning    INTEGER NOT NULL, -- the version since which rankings mean the same
    name       TEXT    NOT NULL,
    definition TEXT    NOT NULL,
    created    INTEGER NOT NULL,
    deleted    INTEGER,
    PRIMARY KEY (id, version)
) WITHOUT ROWID;
CREATE INDEX boards_by_name ON boards (name);

-- One row for each process that wrote. Its id is the `writer` of its events.
CREATE TABLE writers (
    id      INTEGER PRIMARY KEY AUTOINCREMENT,
    started INTEGER NOT NULL
);

-- The truth: immutable score events. `amount` is the score times 10^decimals.
CREATE TABLE events (
    board    INTEGER NOT NULL,
    writer   INTEGER NOT NULL,
    n        INTEGER NOT NULL,
    player   TEXT    NOT NULL,
    kind     TEXT    NOT NULL,
    amount   INTEGER NOT NULL,
    at       INTEGER NOT NULL,
    received INTEGER NOT NULL,
    segments TEXT,
    game_id  TEXT,
    metadata TEXT,
    PRIMARY KEY (board, writer, n)
) WITHOUT ROWID;

-- Which events a player has, written in bulk, and up to which event of each writer.
CREATE TABLE events_by_player (
    board  INTEGER NOT NULL,
    player TEXT    NOT NULL,
    writer INTEGER NOT NULL,
    n      INTEGER NOT NULL,
    PRIMARY KEY (board, player, writer, n)
) WITHOUT ROWID;
CREATE TABLE events_indexed (
    board  INTEGER NOT NULL,
    writer INTEGER NOT NULL,
    n      INTEGER NOT NULL,
    PRIMARY KEY (board, writer)
) WITHOUT ROWID;

-- Idempotency keys with what identifies the request, and its answer.
CREATE TABLE idempotency (
    board       INTEGER NOT NULL,
    key         TEXT    NOT NULL,
    fingerprint BLOB    NOT NULL,
    answer      BLOB,
    PRIMARY KEY (board, key)
) WITHOUT ROWID;

-- What a checkpoint includes: the last event number of each writer, as JSON.
CREATE TABLE checkpoints (
    board     INTEGER NOT NULL,
    number    INTEGER NOT NULL,
    base      INTEGER NOT NULL,
    meaning   INTEGER NOT NULL,
    positions TEXT    NOT NULL,
    complete  INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (board, number)
) WITHOUT ROWID;

-- The checkpointed states: the fold of the events that the row's checkpoint includes.
CREATE TABLE standings (
    board      INTEGER NOT NULL,
    window     TEXT    NOT NULL,
    window_id  TEXT    NOT NULL,
    segment    TEXT    NOT NULL,
    player     TEXT    NOT NULL,
    score      INTEGER NOT NULL,
    since      INTEGER NOT NULL,
    checkpoint INTEGER NOT NULL,
    PRIMARY KEY (board, window, window_id, segment, player)
) WITHOUT ROWID;

-- The rankings that have checkpointed states, and when each may be dropped (0: never).
CREATE TABLE rankings (
    board     INTEGER NOT NULL,
    window    TEXT    NOT NULL,
    window_id TEXT    NOT NULL,
    segment   TEXT    NOT NULL,
    expiry    INTEGER NOT NULL,
    PRIMARY KEY (board, window, window_id, segment)
) WITHOUT ROWID;

CREATE TABLE players (
    player  TEXT PRIMARY KEY,
    name    TEXT,
    updated INTEGER NOT NULL
) WITHOUT ROWID;

-- Odds and ends of the ledger itself, by name.
CREATE TABLE ledger (
    name  TEXT PRIMARY KEY,
    value BLOB NOT NULL
) WITHOUT ROWID;
