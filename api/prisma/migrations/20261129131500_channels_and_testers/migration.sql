-- Channels other than `default`, which is the game's current version.
CREATE TABLE game_channels (
    game_id TEXT NOT NULL,
    name TEXT NOT NULL,
    version_id TEXT NOT NULL,
    updated_at TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    CONSTRAINT game_channels_not_default CHECK (name <> 'default'),
    CONSTRAINT game_channels_pkey PRIMARY KEY (game_id, name),
    CONSTRAINT game_channels_game_id_fkey FOREIGN KEY (game_id) REFERENCES games (id) ON DELETE CASCADE ON UPDATE CASCADE,
    CONSTRAINT game_channels_version_id_fkey FOREIGN KEY (version_id) REFERENCES game_versions (id) ON DELETE CASCADE ON UPDATE CASCADE
);
CREATE INDEX game_channels_version_id_idx ON game_channels (version_id);

-- Players to whom a channel is open, by the address of their account, which may not exist yet.
CREATE TABLE game_testers (
    id TEXT NOT NULL DEFAULT (gen_random_uuid())::text,
    game_id TEXT NOT NULL,
    channel TEXT NOT NULL,
    email TEXT NOT NULL,
    created_at TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    CONSTRAINT game_testers_pkey PRIMARY KEY (id),
    CONSTRAINT game_testers_game_id_fkey FOREIGN KEY (game_id) REFERENCES games (id) ON DELETE CASCADE ON UPDATE CASCADE
);
CREATE UNIQUE INDEX game_testers_game_id_channel_email_key ON game_testers (game_id, channel, email);
CREATE INDEX game_testers_email_idx ON game_testers (email);

-- Links that open a channel to everyone who has them, until they expire. Only the token's digest is stored.
CREATE TABLE play_links (
    id TEXT NOT NULL DEFAULT (gen_random_uuid())::text,
    game_id TEXT NOT NULL,
    channel TEXT NOT NULL,
    token_hash TEXT NOT NULL,
    created_at TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    expires_at TIMESTAMPTZ(3) NOT NULL,
    CONSTRAINT play_links_pkey PRIMARY KEY (id),
    CONSTRAINT play_links_game_id_fkey FOREIGN KEY (game_id) REFERENCES games (id) ON DELETE CASCADE ON UPDATE CASCADE
);
CREATE UNIQUE INDEX play_links_token_hash_key ON play_links (token_hash);
CREATE INDEX play_links_game_id_idx ON play_links (game_id);
CREATE TABLE play_link_players (
    link_id TEXT NOT NULL,
    user_id TEXT NOT NULL,
    opened_at TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    CONSTRAINT play_link_players_pkey PRIMARY KEY (link_id, user_id),
    CONSTRAINT play_link_players_link_id_fkey FOREIGN KEY (link_id) REFERENCES play_links (id) ON DELETE CASCADE ON UPDATE CASCADE,
    CONSTRAINT play_link_players_user_id_fkey FOREIGN KEY (user_id) REFERENCES users (id) ON DELETE CASCADE ON UPDATE CASCADE
);
CREATE INDEX play_link_players_user_id_idx ON play_link_players (user_id);

-- The version that wrote a slot's save; null if it is unknown. A session's save names its session in its key. A copy
-- has the digest of another save of the same player and game.
ALTER TABLE save_slots ADD COLUMN game_version_id TEXT;
CREATE FUNCTION note_writing_version() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW."game_version_id" := coalesce(
        (SELECT "version_id" FROM "game_sessions"
            WHERE "id" = substring(NEW."object_key" FROM '^saves/[^/]+/\d+-([a-z0-9-]+)-\d+(?:\.\d+)?\.tar\.gz$')),
        (SELECT s."version_id" FROM "save_versions" v JOIN "save_slots" l ON l."id" = v."slot_id"
            JOIN "game_sessions" s ON s."id" = v."game_session"
            WHERE l."user_id" = NEW."user_id" AND l."game_id" = NEW."game_id" AND v."sha256" = NEW."sha256"
            ORDER BY v."stored_at" DESC LIMIT 1));
    RETURN NEW;
END $$;
CREATE TRIGGER save_slots_written BEFORE INSERT OR UPDATE OF object_key ON save_slots
    FOR EACH ROW WHEN (NEW.object_key IS NOT NULL) EXECUTE FUNCTION note_writing_version();
UPDATE save_slots SET object_key = object_key WHERE object_key IS NOT NULL;
