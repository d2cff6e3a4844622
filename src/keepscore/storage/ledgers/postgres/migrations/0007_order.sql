-- The ledger's number of the group that an event was recorded with: one that was recorded later has a higher one. Null: it was recorded
-- before there were numbers. The default is for processes of an earlier version that still run.
CREATE SEQUENCE event_seq;
ALTER TABLE events ADD COLUMN seq bigint;
ALTER TABLE events ALTER COLUMN seq SET DEFAULT nextval('event_seq');

-- On boards where the order of events matters, states were folded by times that were cut: they are folded anew.
UPDATE checkpoints SET meaning = 0 WHERE board IN (SELECT id FROM boards WHERE definition ->> 'operator' IN ('last', 'first'));
