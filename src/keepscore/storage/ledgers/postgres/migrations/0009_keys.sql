-- API keys, hashed, and the ids of signed requests, each of which is accepted once.
CREATE TABLE api_keys (
    id        text   PRIMARY KEY,
    name      text   NOT NULL,
    scope     text   NOT NULL, -- 'read', 'submit', 'moderate' or 'admin'
    boards    jsonb  NOT NULL, -- patterns
    hash      bytea  NOT NULL, -- SHA-256 of the key's text
    created   bigint NOT NULL,
    expires   bigint,
    revoked   bigint,
    last_used bigint,
    replaces  text             -- the key in whose place it came
);
CREATE TABLE spent_request_ids (
    key_id     text   NOT NULL,
    request_id text   NOT NULL,
    until      bigint NOT NULL, -- when it may be forgotten
    PRIMARY KEY (key_id, request_id)
);
CREATE INDEX spent_request_ids_by_time ON spent_request_ids (until);
