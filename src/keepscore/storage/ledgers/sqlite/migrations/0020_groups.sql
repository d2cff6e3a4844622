-- Private groups, their members in the order in which they joined, and wrong tries of invite codes.
CREATE TABLE player_groups (
    id      TEXT    NOT NULL PRIMARY KEY,
    name    TEXT    NOT NULL,
    owner   TEXT    NOT NULL,
    code    TEXT    NOT NULL UNIQUE,
    created INTEGER NOT NULL  -- milliseconds
) WITHOUT ROWID;
CREATE TABLE group_members (
    group_id TEXT    NOT NULL,
    player   TEXT    NOT NULL,
    joined   INTEGER NOT NULL, -- milliseconds
    PRIMARY KEY (group_id, player)
) WITHOUT ROWID;
CREATE INDEX group_members_by_player ON group_members (player, group_id);
CREATE TABLE invite_tries (
    player TEXT    NOT NULL,
    at     INTEGER NOT NULL, -- milliseconds
    count  INTEGER NOT NULL,
    PRIMARY KEY (player, at)
) WITHOUT ROWID;
