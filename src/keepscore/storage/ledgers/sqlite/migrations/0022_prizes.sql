-- Windows with a prize: closed early, or decided. Rewards, and the messages that tell of them.
CREATE TABLE prize_windows (
    board        INTEGER NOT NULL,
    window       TEXT    NOT NULL,
    window_id    TEXT    NOT NULL,
    closed_at    INTEGER, -- closed before its end
    close_reason TEXT,
    final_at     INTEGER, -- its winners are decided
    archive      INTEGER, -- by this archive
    statement    TEXT,    -- the signed statement of that
    PRIMARY KEY (board, window, window_id)
) WITHOUT ROWID;
CREATE TABLE prize_holds (
    board     INTEGER NOT NULL,
    window    TEXT    NOT NULL,
    window_id TEXT    NOT NULL,
    player    TEXT    NOT NULL,
    reason    TEXT    NOT NULL,
    at        INTEGER NOT NULL,
    PRIMARY KEY (board, window, window_id, player)
) WITHOUT ROWID;
CREATE TABLE rewards (
    board      INTEGER NOT NULL,
    window     TEXT    NOT NULL,
    window_id  TEXT    NOT NULL,
    rank       INTEGER NOT NULL,
    player     TEXT    NOT NULL,
    give       TEXT    NOT NULL,
    id         TEXT    NOT NULL UNIQUE,
    state      TEXT    NOT NULL, -- held, pending, paid, claimed
    settled_at INTEGER,
    PRIMARY KEY (board, window, window_id, rank)
) WITHOUT ROWID;
CREATE UNIQUE INDEX rewards_by_player ON rewards (board, window, window_id, player);
CREATE TABLE outbox (
    id              TEXT    PRIMARY KEY,
    topic           TEXT    NOT NULL,
    board           INTEGER NOT NULL,
    body            TEXT    NOT NULL,
    created         INTEGER NOT NULL,
    attempts        INTEGER NOT NULL DEFAULT 0,
    next_at         INTEGER NOT NULL,
    acknowledged_at INTEGER,
    error           TEXT
) WITHOUT ROWID;
CREATE INDEX outbox_due ON outbox (next_at) WHERE acknowledged_at IS NULL;
CREATE INDEX outbox_by_time ON outbox (created, id);
