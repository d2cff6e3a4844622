-- Seasons of leagues, their cohorts with sizes, and their members with what became of them.
CREATE TABLE league_seasons (
    board   bigint NOT NULL,
    period  text   NOT NULL, -- the window's name
    starts  bigint NOT NULL, -- milliseconds
    decided bigint,          -- milliseconds
    PRIMARY KEY (board, period, starts)
);
CREATE TABLE league_cohorts (
    board  bigint NOT NULL,
    period text   NOT NULL,
    starts bigint NOT NULL,
    tier   text   NOT NULL,
    band   bigint NOT NULL,
    number bigint NOT NULL,
    size   bigint NOT NULL,
    PRIMARY KEY (board, period, starts, tier, band, number)
);
CREATE TABLE league_members (
    board     bigint NOT NULL,
    period    text   NOT NULL,
    starts    bigint NOT NULL,
    player    text   NOT NULL COLLATE "C",
    arrived   bigint NOT NULL, -- milliseconds
    tier      text   NOT NULL,
    band      bigint NOT NULL,
    number    bigint,          -- null: the cohort is yet to be found
    rank      bigint,
    score     bigint,
    since     bigint,          -- milliseconds
    peak      bigint,
    plays     bigint NOT NULL DEFAULT 0,
    result    text,
    next_tier text,
    PRIMARY KEY (board, period, starts, player)
);
CREATE INDEX league_members_by_cohort ON league_members (board, period, starts, tier, band, number);
CREATE INDEX league_members_by_player ON league_members (player, board, starts);
CREATE INDEX league_members_waiting ON league_members (board, period, starts, arrived) WHERE number IS NULL;
