-- Where an event counts, as JSON: {"windows": ["weekly"], "segment": "region:eu"}. Null, as for nearly all: in all rankings of its time.
ALTER TABLE events ADD COLUMN scope TEXT;
