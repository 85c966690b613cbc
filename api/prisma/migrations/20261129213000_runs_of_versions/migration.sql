-- A version's sessions from the newest.
CREATE INDEX game_sessions_version_id_started_at_id_idx ON game_sessions (version_id, started_at, id);
DROP INDEX game_sessions_version_id_idx;
