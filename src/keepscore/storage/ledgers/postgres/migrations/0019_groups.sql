-- Private groups, their members in the order in which they joined, and wrong tries of invite codes.
CREATE TABLE player_groups (
    id      text   NOT NULL PRIMARY KEY,
    name    text   NOT NULL,
    owner   text   NOT NULL,
    code    text   NOT NULL UNIQUE,
    created bigint NOT NULL  -- milliseconds
);
CREATE TABLE group_members (
    group_id text   NOT NULL,
    player   text   NOT NULL COLLATE "C",
    joined   bigint NOT NULL, -- milliseconds
    PRIMARY KEY (group_id, player)
);
CREATE INDEX group_members_by_player ON group_members (player, group_id);
CREATE TABLE invite_tries (
    player text   NOT NULL,
    at     bigint NOT NULL, -- milliseconds
    count  bigint NOT NULL,
    PRIMARY KEY (player, at)
);
