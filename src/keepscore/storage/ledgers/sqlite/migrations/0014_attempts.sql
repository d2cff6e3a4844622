-- Submissions that were refused, where a rule of their board counts attempts.
CREATE TABLE attempts (
    board  INTEGER NOT NULL,
    player TEXT    NOT NULL,
    at     INTEGER NOT NULL, -- when they were received, in milliseconds
    count  INTEGER NOT NULL,
    PRIMARY KEY (board, player, at)
) WITHOUT ROWID;
CREATE INDEX attempts_by_time ON attempts (at);
