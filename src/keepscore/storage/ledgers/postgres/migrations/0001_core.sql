-- Boards, events, idempotency, checkpoints, profiles. Times are milliseconds since 1970, UTC.

-- Every version of every definition. `id` is one life of a board: deleted and made again, it gets another.
CREATE TABLE boards (
    id         integer NOT NULL,
    version    integer NOT NULL,
    meaning    integer NOT NULL, -- the version since which rankings mean the same
    name       text    NOT NULL,
    definition json    NOT NULL, -- not jsonb: the order of windows is part of it
    created    bigint  NOT NULL,
    deleted    bigint,
    PRIMARY KEY (id, version)
);
CREATE INDEX boards_by_name ON boards (name);

-- One row for each process that wrote. Its id is the `writer` of its events.
CREATE TABLE writers (
    id      integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    started bigint NOT NULL
);

-- The truth: immutable score events. `amount` is the score times 10^decimals. A partition holds a month,
-- by the time of arrival; there is none for the rest, so that nothing goes astray.
CREATE TABLE events (
    board    integer NOT NULL,
    writer   integer NOT NULL,
    n        bigint  NOT NULL,
    player   text    NOT NULL COLLATE "C",
    kind     text    NOT NULL,
    amount   bigint  NOT NULL,
    at       bigint  NOT NULL,
    received bigint  NOT NULL,
    segments jsonb,
    game_id  text,
    metadata json,
    PRIMARY KEY (board, writer, n, received)
) PARTITION BY RANGE (received);
CREATE INDEX events_by_player ON events (board, player);

-- The last event of each writer on each board, written with it, and the last one before that transaction. The key of `events` cannot
-- be (board, writer, n), for lack of the month: that numbers have no gaps, and none comes twice, is seen to here.
CREATE TABLE positions (
    board  integer NOT NULL,
    writer integer NOT NULL,
    before bigint  NOT NULL,
    n      bigint  NOT NULL,
    PRIMARY KEY (board, writer)
);

-- Idempotency keys with what identifies the request, and its answer.
CREATE TABLE idempotency (
    board       integer NOT NULL,
    key         text    NOT NULL,
    fingerprint bytea   NOT NULL,
    answer      bytea,
    PRIMARY KEY (board, key)
);

-- What a checkpoint includes: the last event number of each writer.
CREATE TABLE checkpoints (
    board     integer NOT NULL,
    number    integer NOT NULL,
    base      integer NOT NULL,
    meaning   integer NOT NULL,
    positions jsonb   NOT NULL,
    complete  boolean NOT NULL DEFAULT false,
    PRIMARY KEY (board, number)
);

-- The checkpointed states: the fold of the events that the row's checkpoint includes.
CREATE TABLE standings (
    board      integer NOT NULL,
    "window"   text    NOT NULL COLLATE "C",
    window_id  text    NOT NULL COLLATE "C",
    segment    text    NOT NULL COLLATE "C",
    player     text    NOT NULL COLLATE "C",
    score      bigint  NOT NULL,
    since      bigint  NOT NULL,
    checkpoint integer NOT NULL,
    PRIMARY KEY (board, "window", window_id, segment, player)
);
-- Pages and ranks in order, without sorting a ranking.
CREATE INDEX standings_in_order ON standings (board, "window", window_id, segment, score, since);

-- The rankings that have checkpointed states, and when each may be dropped (0: never).
CREATE TABLE rankings (
    board     integer NOT NULL,
    "window"  text    NOT NULL COLLATE "C",
    window_id text    NOT NULL COLLATE "C",
    segment   text    NOT NULL COLLATE "C",
    expiry    bigint  NOT NULL,
    PRIMARY KEY (board, "window", window_id, segment)
);

CREATE TABLE players (
    player  text   PRIMARY KEY,
    name    text,
    updated bigint NOT NULL
);
CREATE INDEX players_by_time ON players (updated);

-- Odds and ends of the ledger itself, by name.
CREATE TABLE ledger (
    name  text  PRIMARY KEY,
    value bytea NOT NULL
);
