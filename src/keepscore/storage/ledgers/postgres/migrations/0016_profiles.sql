-- The fields of players' profiles beside their names, as JSON.
ALTER TABLE players ADD COLUMN profile text;
