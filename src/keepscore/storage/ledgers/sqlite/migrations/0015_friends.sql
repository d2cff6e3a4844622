-- Who is whose friend. Where friendship is mutual, one row stands for both directions.
CREATE TABLE friends (
    player TEXT    NOT NULL,
    friend TEXT    NOT NULL,
    since  INTEGER NOT NULL, -- milliseconds
    PRIMARY KEY (player, friend)
) WITHOUT ROWID;
CREATE INDEX friends_by_friend ON friends (friend, player);
