-- Named queries of the PostgreSQL ledger for connections and locks. A name, a line that says what it is for, the query.

-- name: be_durable
-- A commit waits for the disk, whatever the server's default is.
SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') IN ('off', 'local');

-- name: end_when_gone
-- Have the server notice within half a minute that the host of a connection is gone, so that the lock is free.
SELECT set_config('tcp_keepalives_idle', '10', false), set_config('tcp_keepalives_interval', '5', false),
       set_config('tcp_keepalives_count', '3', false);

-- name: is_read_only
-- Whether nothing can be written.
SELECT pg_is_in_recovery() OR current_setting('transaction_read_only') = 'on';

-- name: use_alone
-- Take the lock of the ledger, unless somebody uses it. It is let go with the connection.
SELECT pg_try_advisory_lock($1);

-- name: use_with_others
-- The same beside others who share it.
SELECT pg_try_advisory_lock_shared($1);

-- name: let_go
-- Let go of the lock.
SELECT pg_advisory_unlock_all();

-- name: end_connection
-- End a connection of this process, and wait until it has gone; no row where it has gone already.
SELECT pg_terminate_backend(pid, $3) FROM pg_stat_activity WHERE pid = $1 AND application_name = $2;

-- name: table_exists
-- Whether there is a table.
SELECT to_regclass($1) IS NOT NULL;
