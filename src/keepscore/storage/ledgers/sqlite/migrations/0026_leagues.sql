-- Seasons of leagues, their cohorts with sizes, and their members with what became of them.
CREATE TABLE league_seasons (
    board   INTEGER NOT NULL,
    period  TEXT    NOT NULL, -- the window's name
    starts  INTEGER NOT NULL, -- milliseconds
    decided INTEGER,          -- milliseconds
    PRIMARY KEY (board, period, starts)
) WITHOUT ROWID;
CREATE TABLE league_cohorts (
    board  INTEGER NOT NULL,
    period TEXT    NOT NULL,
    starts INTEGER NOT NULL,
    tier   TEXT    NOT NULL,
    band   INTEGER NOT NULL,
    number INTEGER NOT NULL,
    size   INTEGER NOT NULL,
    PRIMARY KEY (board, period, starts, tier, band, number)
) WITHOUT ROWID;
CREATE TABLE league_members (
    board     INTEGER NOT NULL,
    period    TEXT    NOT NULL,
    starts    INTEGER NOT NULL,
    player    TEXT    NOT NULL,
    arrived   INTEGER NOT NULL, -- milliseconds
    tier      TEXT    NOT NULL,
    band      INTEGER NOT NULL,
    number    INTEGER,          -- null: the cohort is yet to be found
    rank      INTEGER,
    score     INTEGER,
    since     INTEGER,          -- milliseconds
    peak      INTEGER,
    plays     INTEGER NOT NULL DEFAULT 0,
    result    TEXT,
    next_tier TEXT,
    PRIMARY KEY (board, period, starts, player)
) WITHOUT ROWID;
CREATE INDEX league_members_by_cohort ON league_members (board, period, starts, tier, band, number);
CREATE INDEX league_members_by_player ON league_members (player, board, starts);
CREATE INDEX league_members_waiting ON league_members (board, period, starts, arrived) WHERE number IS NULL;
