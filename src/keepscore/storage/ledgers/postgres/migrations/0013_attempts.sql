-- Submissions that were refused, where a rule of their board counts attempts.
CREATE TABLE attempts (
    board  bigint NOT NULL,
    player text   NOT NULL,
    at     bigint NOT NULL, -- when they were received, in milliseconds
    count  bigint NOT NULL,
    PRIMARY KEY (board, player, at)
);
CREATE INDEX attempts_by_time ON attempts (at);
