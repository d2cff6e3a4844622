-- Windows with a prize: closed early, or decided. Rewards, and the messages that tell of them.
CREATE TABLE prize_windows (
    board        bigint NOT NULL,
    "window"     text    NOT NULL,
    window_id    text    NOT NULL,
    closed_at    bigint, -- closed before its end
    close_reason text,
    final_at     bigint, -- its winners are decided
    archive      bigint, -- by this archive
    statement    text,    -- the signed statement of that
    PRIMARY KEY (board, "window", window_id)
);
CREATE TABLE prize_holds (
    board     bigint NOT NULL,
    "window"  text    NOT NULL,
    window_id text    NOT NULL,
    player    text    NOT NULL,
    reason    text    NOT NULL,
    at        bigint NOT NULL,
    PRIMARY KEY (board, "window", window_id, player)
);
CREATE TABLE rewards (
    board      bigint NOT NULL,
    "window"   text    NOT NULL,
    window_id  text    NOT NULL,
    rank       bigint NOT NULL,
    player     text    NOT NULL,
    give       text    NOT NULL,
    id         text   NOT NULL UNIQUE,
    state      text    NOT NULL, -- held, pending, paid, claimed
    settled_at bigint,
    PRIMARY KEY (board, "window", window_id, rank)
);
CREATE UNIQUE INDEX rewards_by_player ON rewards (board, "window", window_id, player);
CREATE TABLE outbox (
    id              text    PRIMARY KEY,
    topic           text    NOT NULL,
    board           bigint NOT NULL,
    body            text    NOT NULL,
    created         bigint NOT NULL,
    attempts        bigint NOT NULL DEFAULT 0,
    next_at         bigint NOT NULL,
    acknowledged_at bigint,
    error           text
);
CREATE INDEX outbox_due ON outbox (next_at) WHERE acknowledged_at IS NULL;
CREATE INDEX outbox_by_time ON outbox (created, id COLLATE "C");
