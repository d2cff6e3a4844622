-- Scores that moderators decide about. A held one does not count until it is approved.
CREATE TABLE queue (
    id       text PRIMARY KEY, -- also the id of the decision, which its verdicts have
    board    int NOT NULL,
    player   text    NOT NULL,
    kind     text    NOT NULL,
    amount   bigint NOT NULL,
    at       bigint NOT NULL, -- milliseconds
    received bigint NOT NULL, -- milliseconds
    is_held  boolean NOT NULL,
    reasons  text    NOT NULL, -- JSON
    events   text    NOT NULL, -- JSON: board, writer and number of each
    state    text    NOT NULL, -- open, approving, rejecting, approved, rejected
    decided  bigint,          -- milliseconds
    reason   text,
    key      text              -- the idempotency key of the request that has decided
);
CREATE INDEX queue_by_state ON queue (state, received, id);
CREATE INDEX queue_by_player ON queue (board, player);
