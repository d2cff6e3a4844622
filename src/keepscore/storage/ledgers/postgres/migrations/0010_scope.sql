-- Where an event counts: {"windows": ["weekly"], "segment": "region:eu"}. Null, as for nearly all: in all rankings of its time.
ALTER TABLE events ADD COLUMN scope jsonb;
