-- Entries of the audit are added, with a hash, and neither changed nor removed. This stops mistakes; the chain shows what was done in spite of it.
ALTER TABLE audit ALTER COLUMN hash DROP DEFAULT;
CREATE FUNCTION refuse_audit_change() RETURNS trigger LANGUAGE plpgsql AS
$$ BEGIN RAISE EXCEPTION 'the audit is append-only'; END $$;
CREATE TRIGGER audit_is_append_only BEFORE UPDATE OR DELETE ON audit FOR EACH ROW EXECUTE FUNCTION refuse_audit_change();
