-- Limits of the play time of a group's members; null for the site's.
ALTER TABLE player_groups ADD COLUMN play_seconds_per_day INTEGER CHECK (play_seconds_per_day > 0);
ALTER TABLE player_groups ADD COLUMN play_seconds_per_month INTEGER CHECK (play_seconds_per_month > 0);
