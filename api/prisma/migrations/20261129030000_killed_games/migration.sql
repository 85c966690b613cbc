-- The last save of a game that was killed may be incomplete. The save that was stored before its end began is
-- kept as a version.
ALTER TYPE save_version_kind ADD VALUE 'autosave';
ALTER TABLE save_versions ADD COLUMN is_suspect BOOLEAN NOT NULL DEFAULT false;
ALTER TABLE save_versions ADD COLUMN before_end JSONB;
ALTER TABLE game_sessions ADD COLUMN is_save_suspect BOOLEAN NOT NULL DEFAULT false;
ALTER TABLE game_sessions ADD COLUMN full_folders TEXT[] DEFAULT ARRAY[]::TEXT[];
