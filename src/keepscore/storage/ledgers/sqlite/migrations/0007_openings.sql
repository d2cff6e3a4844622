-- What is left of events that were dropped: those of a board that came before `received` and are of a time before `at`.
CREATE TABLE openings (
    board     INTEGER NOT NULL,
    number    INTEGER NOT NULL,
    at        INTEGER NOT NULL,
    received  INTEGER NOT NULL,
    announced INTEGER NOT NULL,
    first     INTEGER,                       -- the time of the earliest event
    events    INTEGER NOT NULL DEFAULT 0,
    positions TEXT    NOT NULL DEFAULT '{}', -- the last event number of each writer, as JSON
    complete  INTEGER NOT NULL DEFAULT 0,    -- whether it counts
    removed   INTEGER NOT NULL DEFAULT 0,    -- whether the events are gone
    PRIMARY KEY (board, number)
) WITHOUT ROWID;

-- The rankings of an opening, a moment within each, and when it may be dropped (0: never).
CREATE TABLE opening_rankings (
    board     INTEGER NOT NULL,
    number    INTEGER NOT NULL,
    window    TEXT    NOT NULL,
    window_id TEXT    NOT NULL,
    segment   TEXT    NOT NULL,
    moment    INTEGER NOT NULL,
    expiry    INTEGER NOT NULL,
    PRIMARY KEY (board, number, window, window_id, segment)
) WITHOUT ROWID;

-- The fold of the dropped events, a row for each player and ranking.
CREATE TABLE opening_states (
    board     INTEGER NOT NULL,
    number    INTEGER NOT NULL,
    player    TEXT    NOT NULL,
    window    TEXT    NOT NULL,
    window_id TEXT    NOT NULL,
    segment   TEXT    NOT NULL,
    score     INTEGER NOT NULL,
    since     INTEGER NOT NULL,
    own       INTEGER, -- when the player last scored, on boards with inactivity
    PRIMARY KEY (board, number, player, window, window_id, segment)
) WITHOUT ROWID;
