-- When the page of a starting session closed; null again once a player returns.
ALTER TABLE game_sessions ADD COLUMN left_at TIMESTAMPTZ(3);
