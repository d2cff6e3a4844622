-- The build of the game, and a mark of the address, that an event came from.
ALTER TABLE events ADD COLUMN build TEXT;
ALTER TABLE events ADD COLUMN address TEXT;
-- Who has sent scores from an address.
CREATE TABLE addresses (
    board   INTEGER NOT NULL,
    address TEXT    NOT NULL, -- a mark
    player  TEXT    NOT NULL,
    last    INTEGER NOT NULL, -- when, in milliseconds
    PRIMARY KEY (board, address, player)
) WITHOUT ROWID;
CREATE INDEX addresses_by_time ON addresses (last);
