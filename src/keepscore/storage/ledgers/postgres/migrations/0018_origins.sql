-- The build of the game, and a mark of the address, that an event came from.
ALTER TABLE events ADD COLUMN build text;
ALTER TABLE events ADD COLUMN address text;
-- Who has sent scores from an address.
CREATE TABLE addresses (
    board   int    NOT NULL,
    address text   NOT NULL, -- a mark
    player  text   NOT NULL,
    last    bigint NOT NULL, -- when, in milliseconds
    PRIMARY KEY (board, address, player)
);
CREATE INDEX addresses_by_time ON addresses (last);
