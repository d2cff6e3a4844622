-- API keys, hashed, and the ids of signed requests, each of which is accepted once.
CREATE TABLE api_keys (
    id        TEXT    PRIMARY KEY,
    name      TEXT    NOT NULL,
    scope     TEXT    NOT NULL, -- 'read', 'submit', 'moderate' or 'admin'
    boards    TEXT    NOT NULL, -- patterns, a JSON list
    hash      BLOB    NOT NULL, -- SHA-256 of the key's text
    created   INTEGER NOT NULL,
    expires   INTEGER,
    revoked   INTEGER,
    last_used INTEGER,
    replaces  TEXT              -- the key in whose place it came
) WITHOUT ROWID;
CREATE TABLE spent_request_ids (
    key_id     TEXT    NOT NULL,
    request_id TEXT    NOT NULL,
    until      INTEGER NOT NULL, -- when it may be forgotten
    PRIMARY KEY (key_id, request_id)
) WITHOUT ROWID;
CREATE INDEX spent_request_ids_by_time ON spent_request_ids (until);
