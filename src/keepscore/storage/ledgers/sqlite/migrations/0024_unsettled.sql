-- When a profile changed that may not be counted yet in the segments which come from profiles.
ALTER TABLE players ADD COLUMN unsettled INTEGER;
CREATE INDEX players_unsettled ON players (unsettled) WHERE unsettled IS NOT NULL;
