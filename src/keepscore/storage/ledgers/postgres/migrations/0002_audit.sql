-- Who changed what. `who` is the process that did it; `detail` tells the number of the board's life and the version.
CREATE TABLE audit (
    id     bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at     bigint NOT NULL,
    who    text   NOT NULL,
    action text   NOT NULL,
    board  text,
    detail jsonb  NOT NULL
);
