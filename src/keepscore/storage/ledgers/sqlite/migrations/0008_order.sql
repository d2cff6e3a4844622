-- The ledger's number of the group that an event was recorded with: one that was recorded later has a higher one. Null: it was recorded
-- before there were numbers.
ALTER TABLE events ADD COLUMN seq INTEGER;

-- The last number that was given, or set aside.
CREATE TABLE event_seq (last INTEGER NOT NULL);
INSERT INTO event_seq VALUES (0);

-- On boards where the order of events matters, states were folded by times that were cut: they are folded anew.
UPDATE checkpoints SET meaning = 0
WHERE board IN (SELECT id FROM boards WHERE json_extract(definition, '$.operator') IN ('last', 'first'));
