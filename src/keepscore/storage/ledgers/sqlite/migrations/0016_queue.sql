-- Scores that moderators decide about. A held one does not count until it is approved.
CREATE TABLE queue (
    id       TEXT PRIMARY KEY, -- also the id of the decision, which its verdicts have
    board    INTEGER NOT NULL,
    player   TEXT    NOT NULL,
    kind     TEXT    NOT NULL,
    amount   INTEGER NOT NULL,
    at       INTEGER NOT NULL, -- milliseconds
    received INTEGER NOT NULL, -- milliseconds
    is_held  INTEGER NOT NULL,
    reasons  TEXT    NOT NULL, -- JSON
    events   TEXT    NOT NULL, -- JSON: board, writer and number of each
    state    TEXT    NOT NULL, -- open, approving, rejecting, approved, rejected
    decided  INTEGER,          -- milliseconds
    reason   TEXT,
    key      TEXT              -- the idempotency key of the request that has decided
) WITHOUT ROWID;
CREATE INDEX queue_by_state ON queue (state, received, id);
CREATE INDEX queue_by_player ON queue (board, player);
