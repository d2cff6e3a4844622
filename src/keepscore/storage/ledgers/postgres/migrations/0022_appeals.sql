-- What players say against decisions, and what moderators reply. A player appeals once against each.
CREATE TABLE appeals (
    id       text PRIMARY KEY,
    decision text NOT NULL, -- a void, or an item of the queue
    board    int NOT NULL,
    player   text NOT NULL,
    text     text NOT NULL,
    at       bigint NOT NULL, -- milliseconds
    state    text NOT NULL, -- open, upheld, granted
    reply    text,
    replied  bigint, -- milliseconds
    UNIQUE (decision, player)
);
CREATE INDEX appeals_by_state ON appeals (state, at, id);
