-- Entries of the audit are added, with a hash, and neither changed nor removed. This stops mistakes; the chain shows what was done in spite of it.
CREATE TRIGGER audit_is_chained BEFORE INSERT ON audit WHEN length(NEW.hash) <> 32
BEGIN SELECT RAISE(ABORT, 'an entry of the audit needs a hash: use a newer Keepscore'); END;
CREATE TRIGGER audit_is_not_changed BEFORE UPDATE ON audit
BEGIN SELECT RAISE(ABORT, 'the audit is append-only'); END;
CREATE TRIGGER audit_is_not_removed BEFORE DELETE ON audit
BEGIN SELECT RAISE(ABORT, 'the audit is append-only'); END;
