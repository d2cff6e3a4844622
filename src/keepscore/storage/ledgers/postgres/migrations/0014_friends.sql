-- Who is whose friend. Where friendship is mutual, one row stands for both directions.
CREATE TABLE friends (
    player text   NOT NULL COLLATE "C",
    friend text   NOT NULL COLLATE "C",
    since  bigint NOT NULL, -- milliseconds
    PRIMARY KEY (player, friend)
);
CREATE INDEX friends_by_friend ON friends (friend, player);
