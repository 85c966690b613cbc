-- Whether the session's longest duration is what its player had left of a play limit.
ALTER TABLE game_sessions ADD COLUMN is_play_limited BOOLEAN NOT NULL DEFAULT false;
