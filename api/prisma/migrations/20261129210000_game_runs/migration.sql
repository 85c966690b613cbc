-- What a partner learns about the sessions of a game.
ALTER TABLE game_sessions ADD COLUMN exit_code SMALLINT;
ALTER TABLE game_sessions ADD COLUMN exit_signal TEXT;
ALTER TABLE game_sessions ADD COLUMN ended_by TEXT;
ALTER TABLE game_sessions ADD COLUMN stream_summary JSONB;

-- A game's sessions from the newest, and the few of them that failed.
CREATE INDEX game_sessions_game_id_started_at_id_idx ON game_sessions (game_id, started_at, id);
CREATE INDEX game_sessions_failed_runs ON game_sessions (game_id, started_at, id) WHERE failure_reason IS NOT NULL;
DROP INDEX game_sessions_game_id_idx;
