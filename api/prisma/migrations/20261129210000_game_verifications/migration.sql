-- Whether uploads of the game are verified, and whether they wait for it; null for what the site does.
ALTER TABLE games ADD COLUMN verify TEXT CONSTRAINT games_verify CHECK (verify IN ('off', 'report', 'require'));

-- The last verification of a version: the platform plays it once by itself.
CREATE TABLE game_verifications (
    version_id TEXT PRIMARY KEY REFERENCES game_versions (id) ON UPDATE CASCADE ON DELETE CASCADE,
    game_id TEXT NOT NULL REFERENCES games (id) ON UPDATE CASCADE ON DELETE CASCADE,
    state TEXT NOT NULL CONSTRAINT game_verifications_state
        CHECK (state IN ('waiting', 'running', 'good', 'bad', 'expired')),
    -- Whether the version becomes current after a good verdict.
    is_required BOOLEAN NOT NULL DEFAULT false,
    -- The GameSession that plays it, or played it last. It has no row in game_sessions.
    session_id TEXT,
    -- Sessions that ended without a verdict for reasons of the platform.
    attempts INTEGER NOT NULL DEFAULT 0,
    requested_at TIMESTAMPTZ(3) NOT NULL DEFAULT now(),
    started_at TIMESTAMPTZ(3),
    finished_at TIMESTAMPTZ(3),
    report JSONB
);
CREATE INDEX game_verifications_game_id_idx ON game_verifications (game_id);
CREATE INDEX game_verifications_open_idx ON game_verifications (requested_at) WHERE state IN ('waiting', 'running');

-- Partners see the setting, so a change counts as a new revision.
CREATE TRIGGER games_count_verify BEFORE UPDATE OF verify ON games FOR EACH ROW
    WHEN (OLD.verify IS DISTINCT FROM NEW.verify) EXECUTE FUNCTION count_game_revision();
