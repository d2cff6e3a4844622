-- Named queries of the PostgreSQL ledger for the audit log. A name, a line that says what it is for, the query.

-- name: audit
-- Note who did what.
INSERT INTO audit (at, who, action, board, detail) VALUES ($1, $2, $3, $4, $5);
