-- What is left of events that were dropped: those of a board that came before `received` and are of a time before `at`.
CREATE TABLE openings (
    board     integer NOT NULL,
    number    integer NOT NULL,
    at        bigint  NOT NULL,
    received  bigint  NOT NULL,
    announced bigint  NOT NULL,
    first     bigint,                        -- the time of the earliest event
    events    bigint  NOT NULL DEFAULT 0,
    positions jsonb   NOT NULL DEFAULT '{}', -- the last event number of each writer
    complete  boolean NOT NULL DEFAULT false, -- whether it counts
    removed   boolean NOT NULL DEFAULT false, -- whether the events are gone
    PRIMARY KEY (board, number)
);

-- The rankings of an opening, a moment within each, and when it may be dropped (0: never).
CREATE TABLE opening_rankings (
    board     integer NOT NULL,
    number    integer NOT NULL,
    "window"  text    NOT NULL COLLATE "C",
    window_id text    NOT NULL COLLATE "C",
    segment   text    NOT NULL COLLATE "C",
    moment    bigint  NOT NULL,
    expiry    bigint  NOT NULL,
    PRIMARY KEY (board, number, "window", window_id, segment)
);

-- The fold of the dropped events, a row for each player and ranking.
CREATE TABLE opening_states (
    board     integer NOT NULL,
    number    integer NOT NULL,
    player    text    NOT NULL COLLATE "C",
    "window"  text    NOT NULL COLLATE "C",
    window_id text    NOT NULL COLLATE "C",
    segment   text    NOT NULL COLLATE "C",
    score     bigint  NOT NULL,
    since     bigint  NOT NULL,
    own       bigint, -- when the player last scored, on boards with inactivity
    PRIMARY KEY (board, number, player, "window", window_id, segment)
);
