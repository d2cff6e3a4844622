-- What players say against decisions, and what moderators reply. A player appeals once against each.
CREATE TABLE appeals (
    id       TEXT PRIMARY KEY,
    decision TEXT NOT NULL, -- a void, or an item of the queue
    board    INTEGER NOT NULL,
    player   TEXT NOT NULL,
    text     TEXT NOT NULL,
    at       INTEGER NOT NULL, -- milliseconds
    state    TEXT NOT NULL, -- open, upheld, granted
    reply    TEXT,
    replied  INTEGER, -- milliseconds
    UNIQUE (decision, player)
);
CREATE INDEX appeals_by_state ON appeals (state, at, id);
