-- Who changed what. `who` is the process that did it; `detail` tells the number of the board's life and the version.
CREATE TABLE audit (
    id     INTEGER PRIMARY KEY,
    at     INTEGER NOT NULL,
    who    TEXT    NOT NULL,
    action TEXT    NOT NULL,
    board  TEXT,
    detail TEXT    NOT NULL
);
