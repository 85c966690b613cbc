-- The schema of Joypod 0.1.0. Partial indexes, checks, generated columns, functions and triggers exist only here:
-- Prisma's schema language cannot express them.

CREATE EXTENSION IF NOT EXISTS pg_trgm;

CREATE TYPE game_status AS ENUM ('pending_upload', 'active');
CREATE TYPE game_network AS ENUM ('none', 'internet');
CREATE TYPE game_session_status AS ENUM ('starting', 'running', 'stopping', 'stopped', 'error');
CREATE TYPE save_version_kind AS ENUM ('played', 'conflict', 'requested', 'restored', 'imported');

-- Lower case by the rules of Unicode, whatever the locale of the database.
CREATE FUNCTION lower_all("values" TEXT[]) RETURNS TEXT[] LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN ARRAY(SELECT lower(value COLLATE "und-x-icu") FROM unnest("values") WITH ORDINALITY AS each(value, position) ORDER BY position);

-- Players.
CREATE TABLE users (
    id TEXT NOT NULL DEFAULT (gen_random_uuid())::text,
    email TEXT NOT NULL,
    name TEXT NOT NULL,
    image TEXT,
    password_hash TEXT,
    email_verified_at TIMESTAMPTZ(3),
    disabled_at TIMESTAMPTZ(3),
    created_at TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    updated_at TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    stream_quality JSONB,
    CONSTRAINT users_pkey PRIMARY KEY (id)
);
CREATE UNIQUE INDEX users_email_key ON users (email);

-- Accounts at external providers that sign in as a user.
CREATE TABLE identities (
    issuer TEXT NOT NULL,
    subject TEXT NOT NULL,
    user_id TEXT NOT NULL,
    created_at TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    CONSTRAINT identities_pkey PRIMARY KEY (issuer, subject)
);
CREATE INDEX identities_user_id_idx ON identities (user_id);

-- One row per sign-in. A revoked row makes a sign-out final.
CREATE TABLE auth_sessions (
    id TEXT NOT NULL,
    user_id TEXT NOT NULL,
    created_at TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    last_seen_at TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    revoked_at TIMESTAMPTZ(3),
    device TEXT,
    ip_prefix TEXT,
    CONSTRAINT auth_sessions_pkey PRIMARY KEY (id)
);
CREATE INDEX auth_sessions_last_seen_at_idx ON auth_sessions (last_seen_at);
CREATE INDEX auth_sessions_user_id_idx ON auth_sessions (user_id);

-- Partners, who upload games.
CREATE TABLE partners (
    id TEXT NOT NULL DEFAULT (gen_random_uuid())::text,
    name TEXT NOT NULL,
    suspended_at TIMESTAMPTZ(3),
    created_at TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    CONSTRAINT partners_pkey PRIMARY KEY (id)
);
CREATE UNIQUE INDEX partners_name_key ON partners (name);

-- API keys of partners; `id` is the public part.
CREATE TABLE partner_keys (
    id TEXT NOT NULL,
    partner_id TEXT NOT NULL,
    secret_hash TEXT NOT NULL,
    created_at TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    expires_at TIMESTAMPTZ(3),
    revoked_at TIMESTAMPTZ(3),
    last_used_at TIMESTAMPTZ(3),
    CONSTRAINT partner_keys_pkey PRIMARY KEY (id)
);
CREATE INDEX partner_keys_partner_id_idx ON partner_keys (partner_id);

-- Games as partners register them. The generated columns are what the catalogue searches, filters and sorts by.
CREATE TABLE games (
    id TEXT NOT NULL DEFAULT (gen_random_uuid())::text,
    partner_id TEXT NOT NULL,
    slug TEXT NOT NULL,
    title TEXT NOT NULL,
    developer TEXT NOT NULL,
    description TEXT NOT NULL DEFAULT '',
    tags TEXT[] DEFAULT ARRAY[]::TEXT[],
    launcher TEXT NOT NULL,
    engine_dir TEXT NOT NULL,
    thumbnail TEXT,
    screenshots TEXT[] DEFAULT ARRAY[]::TEXT[],
    content_rating TEXT,
    languages TEXT[] DEFAULT ARRAY[]::TEXT[],
    website TEXT,
    release_date DATE,
    status game_status NOT NULL DEFAULT 'pending_upload',
    current_version_id TEXT,
    popularity INTEGER NOT NULL DEFAULT 0,
    profile_sessions INTEGER NOT NULL DEFAULT 0,
    profile_cpu_millicores DOUBLE PRECISION,
    profile_peak_memory_mb DOUBLE PRECISION,
    profile_duration_seconds DOUBLE PRECISION,
    created_at TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    updated_at TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    deleted_at TIMESTAMPTZ(3),
    title_key TEXT COLLATE "und-x-icu" GENERATED ALWAYS AS (lower(title COLLATE "und-x-icu")) STORED,
    search_text TEXT,
    tag_keys TEXT[] GENERATED ALWAYS AS (lower_all(tags)) STORED,
    cache_applied_revision INTEGER NOT NULL DEFAULT 0,
    cache_revision INTEGER NOT NULL DEFAULT 0,
    revision INTEGER NOT NULL DEFAULT 0,
    network game_network NOT NULL DEFAULT 'none',
    save_limit_mb INTEGER,
    cpu_millicores INTEGER,
    gpu_share INTEGER,
    memory_mb INTEGER,
    picture_height INTEGER,
    picture_width INTEGER,
    profile_highest_memory_mb DOUBLE PRECISION,
    profile_memory_floor_mb INTEGER,
    picture_id TEXT,
    CONSTRAINT games_active_has_version CHECK (status <> 'active' OR current_version_id IS NOT NULL),
    CONSTRAINT games_pkey PRIMARY KEY (id)
);
CREATE INDEX games_cache_behind ON games (id)
    WHERE cache_applied_revision <> cache_revision;
-- Each sort order of the catalogue reads one index, backwards too. The included columns let a page of a common search
-- term, and the count of its matches, be read from the index alone.
CREATE INDEX games_catalog_created ON games (created_at, title_key, id) INCLUDE (search_text, tag_keys)
    WHERE status = 'active' AND deleted_at IS NULL;
CREATE INDEX games_catalog_created_desc ON games (created_at DESC, title_key, id) INCLUDE (search_text, tag_keys)
    WHERE status = 'active' AND deleted_at IS NULL;
-- One index finds games by term, by tag, and by both. Postgres never combines two indexes with the same condition: with
-- two of them, a common term with a rare tag tested every match of one against the other.
CREATE INDEX games_catalog_found ON games USING gin (search_text gin_trgm_ops, tag_keys)
    WHERE status = 'active' AND deleted_at IS NULL;
CREATE INDEX games_catalog_popular ON games (popularity, title_key, id) INCLUDE (search_text, tag_keys)
    WHERE status = 'active' AND deleted_at IS NULL;
CREATE INDEX games_catalog_popular_desc ON games (popularity DESC, title_key, id) INCLUDE (search_text, tag_keys)
    WHERE status = 'active' AND deleted_at IS NULL;
CREATE INDEX games_catalog_title ON games (title_key, id) INCLUDE (search_text, tag_keys)
    WHERE status = 'active' AND deleted_at IS NULL;
CREATE UNIQUE INDEX games_current_version_id_key ON games (current_version_id);
CREATE INDEX games_partner_id_idx ON games (partner_id);
CREATE UNIQUE INDEX games_picture_id_key ON games (picture_id);
CREATE UNIQUE INDEX games_slug_key ON games (slug);

-- Uploaded archives of games.
CREATE TABLE game_versions (
    id TEXT NOT NULL DEFAULT (gen_random_uuid())::text,
    game_id TEXT NOT NULL,
    object_key TEXT NOT NULL,
    sha256 TEXT NOT NULL,
    size_bytes BIGINT NOT NULL,
    unpacked_size_bytes BIGINT NOT NULL,
    root_files TEXT[] DEFAULT ARRAY[]::TEXT[],
    root_directories TEXT[] DEFAULT ARRAY[]::TEXT[],
    created_at TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    removed_at TIMESTAMPTZ(3),
    superseded_at TIMESTAMPTZ(3),
    CONSTRAINT game_versions_pkey PRIMARY KEY (id)
);
CREATE INDEX game_versions_game_id_created_at_idx ON game_versions (game_id, created_at);
CREATE UNIQUE INDEX game_versions_object_key_key ON game_versions (object_key);
CREATE INDEX game_versions_to_remove ON game_versions (superseded_at)
    WHERE superseded_at IS NOT NULL AND removed_at IS NULL;

-- Uploaded pictures of games.
CREATE TABLE game_pictures (
    id TEXT NOT NULL,
    game_id TEXT NOT NULL,
    sha256 TEXT NOT NULL,
    type TEXT NOT NULL,
    size_bytes INTEGER NOT NULL,
    width INTEGER NOT NULL,
    height INTEGER NOT NULL,
    superseded_at TIMESTAMPTZ(3) DEFAULT CURRENT_TIMESTAMP,
    CONSTRAINT game_pictures_pkey PRIMARY KEY (id)
);
CREATE INDEX game_pictures_game_id_idx ON game_pictures (game_id);
CREATE INDEX game_pictures_superseded ON game_pictures (superseded_at)
    WHERE superseded_at IS NOT NULL;

-- Uploads in progress.
CREATE TABLE game_uploads (
    id TEXT NOT NULL,
    game_id TEXT NOT NULL,
    object_key TEXT NOT NULL,
    started_at TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    renewed_at TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    abandoned_at TIMESTAMPTZ(3),
    CONSTRAINT game_uploads_pkey PRIMARY KEY (id)
);
CREATE UNIQUE INDEX game_uploads_object_key_key ON game_uploads (object_key);
-- One upload per game, enforced under concurrency.
CREATE UNIQUE INDEX game_uploads_one_per_game ON game_uploads (game_id)
    WHERE abandoned_at IS NULL;
CREATE INDEX game_uploads_renewed_at_idx ON game_uploads (renewed_at);

CREATE TABLE favorites (
    user_id TEXT NOT NULL,
    game_id TEXT NOT NULL,
    created_at TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    CONSTRAINT favorites_pkey PRIMARY KEY (user_id, game_id)
);
CREATE INDEX favorites_game_id_idx ON favorites (game_id);

-- Launches per game and day, from which popularity is computed.
CREATE TABLE game_launch_days (
    game_id TEXT NOT NULL,
    day DATE NOT NULL,
    launches INTEGER NOT NULL DEFAULT 0,
    CONSTRAINT game_launch_days_pkey PRIMARY KEY (game_id, day)
);
CREATE INDEX game_launch_days_day_idx ON game_launch_days (day);

-- A single row: the number of listed games, and a revision that changes with every change to the catalogue.
CREATE TABLE catalog_totals (
    id INTEGER NOT NULL DEFAULT 1,
    listed INTEGER NOT NULL,
    revision BIGINT NOT NULL DEFAULT 0,
    CONSTRAINT catalog_totals_one_row CHECK (id = 1),
    CONSTRAINT catalog_totals_pkey PRIMARY KEY (id)
);

-- Save slots of players.
CREATE TABLE save_slots (
    id TEXT NOT NULL DEFAULT (gen_random_uuid())::text,
    user_id TEXT NOT NULL,
    game_id TEXT NOT NULL,
    number SMALLINT NOT NULL,
    label TEXT NOT NULL,
    last_played_at TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    object_key TEXT,
    sha256 TEXT,
    bytes BIGINT,
    generation INTEGER NOT NULL DEFAULT 0,
    saved_by_session TEXT,
    sequence INTEGER NOT NULL DEFAULT 0,
    created_at TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    pending_session TEXT,
    attempt INTEGER NOT NULL DEFAULT 0,
    unpacked_bytes BIGINT,
    custom_label TEXT,
    CONSTRAINT save_slots_forward CHECK (generation >= 0 AND sequence >= 0),
    CONSTRAINT save_slots_number CHECK (number BETWEEN 1 AND 3),
    CONSTRAINT save_slots_save CHECK (num_nulls(object_key, sha256, bytes) IN (0, 3)),
    CONSTRAINT save_slots_pkey PRIMARY KEY (id)
);
CREATE INDEX save_slots_game_id_idx ON save_slots (game_id);
CREATE UNIQUE INDEX save_slots_user_id_game_id_number_key ON save_slots (user_id, game_id, number);

-- Stored saves of slots.
CREATE TABLE save_versions (
    id TEXT NOT NULL DEFAULT (gen_random_uuid())::text,
    slot_id TEXT NOT NULL,
    kind save_version_kind NOT NULL,
    game_session TEXT,
    object_key TEXT NOT NULL,
    sha256 TEXT NOT NULL,
    bytes BIGINT NOT NULL,
    unpacked_bytes BIGINT,
    generation INTEGER NOT NULL,
    sequence INTEGER NOT NULL DEFAULT 0,
    attempt INTEGER NOT NULL DEFAULT 0,
    stored_at TIMESTAMPTZ(3) NOT NULL DEFAULT now(),
    superseded_at TIMESTAMPTZ(3),
    unreadable_at TIMESTAMPTZ(3),
    check_due_at TIMESTAMPTZ(3) NOT NULL DEFAULT now(),
    CONSTRAINT save_versions_pkey PRIMARY KEY (id)
);
CREATE INDEX save_versions_check_due_at_idx ON save_versions (check_due_at);
-- A session has one version that moves with its saves, and one for saves stored after it lost the slot.
CREATE UNIQUE INDEX save_versions_of_session ON save_versions (slot_id, game_session, kind)
    WHERE kind IN ('played', 'conflict');
CREATE INDEX save_versions_slot_id_stored_at_idx ON save_versions (slot_id, stored_at);
-- Unreadable saves are counted every minute, and there are almost none.
CREATE INDEX save_versions_unreadable ON save_versions (unreadable_at)
    WHERE unreadable_at IS NOT NULL;

-- Slots whose stored saves the sweeper has to look through. Rows outlive their slot.
CREATE TABLE save_sweeps (
    slot_id TEXT NOT NULL,
    due_at TIMESTAMPTZ(3) NOT NULL,
    changes INTEGER NOT NULL DEFAULT 0,
    slot_deleted_at TIMESTAMPTZ(3),
    seen_key TEXT,
    CONSTRAINT save_sweeps_pkey PRIMARY KEY (slot_id)
);
CREATE INDEX save_sweeps_due_at_idx ON save_sweeps (due_at);

-- Sessions. At most one is active per player, and at most one owns a slot.
CREATE TABLE game_sessions (
    id TEXT NOT NULL,
    user_id TEXT NOT NULL,
    game_id TEXT NOT NULL,
    version_id TEXT NOT NULL,
    slot_id TEXT,
    status game_session_status NOT NULL DEFAULT 'starting',
    stop_reason TEXT,
    failure_reason TEXT,
    failure_message TEXT,
    node TEXT,
    spec JSONB NOT NULL,
    cr_name TEXT NOT NULL,
    cr_created_at TIMESTAMPTZ(3),
    idle_timeout_seconds INTEGER NOT NULL,
    started_at TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    ready_at TIMESTAMPTZ(3),
    expires_at TIMESTAMPTZ(3),
    stopping_at TIMESTAMPTZ(3),
    ended_at TIMESTAMPTZ(3),
    duration_seconds DOUBLE PRECISION,
    cpu_seconds DOUBLE PRECISION,
    peak_memory_mb DOUBLE PRECISION,
    recorded_at TIMESTAMPTZ(3),
    save_notice TEXT,
    slot_released_at TIMESTAMPTZ(3),
    CONSTRAINT game_sessions_pkey PRIMARY KEY (id)
);
CREATE INDEX game_sessions_active ON game_sessions (status, expires_at)
    WHERE status IN ('starting', 'running', 'stopping');
CREATE UNIQUE INDEX game_sessions_cr_name_key ON game_sessions (cr_name);
CREATE INDEX game_sessions_game_id_idx ON game_sessions (game_id);
-- One active session per player, enforced under concurrency.
CREATE UNIQUE INDEX game_sessions_one_active ON game_sessions (user_id)
    WHERE status IN ('starting', 'running', 'stopping');
CREATE INDEX game_sessions_slot_id_idx ON game_sessions (slot_id);
-- One session at a time owns a slot: storing a session claims its slot, or fails.
CREATE UNIQUE INDEX game_sessions_slot_owner ON game_sessions (slot_id)
    WHERE slot_released_at IS NULL;
CREATE INDEX game_sessions_unrecorded ON game_sessions (started_at)
    WHERE recorded_at IS NULL;
CREATE INDEX game_sessions_user_id_started_at_idx ON game_sessions (user_id, started_at);
CREATE INDEX game_sessions_version_id_idx ON game_sessions (version_id);
CREATE INDEX game_sessions_without_cr ON game_sessions (started_at)
    WHERE cr_created_at IS NULL;

-- A single row: when idle sessions were last swept.
CREATE TABLE idle_sweeps (
    id INTEGER NOT NULL DEFAULT 1,
    swept_at TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    CONSTRAINT idle_sweeps_pkey PRIMARY KEY (id)
);

-- Responses stored for repeated requests.
CREATE TABLE idempotency_keys (
    principal TEXT NOT NULL,
    route TEXT NOT NULL,
    key TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    attempt TEXT NOT NULL,
    leased_until TIMESTAMPTZ(3) NOT NULL,
    answer JSONB,
    created_at TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    CONSTRAINT idempotency_keys_pkey PRIMARY KEY (principal, route, key)
);
CREATE INDEX idempotency_keys_created_at_idx ON idempotency_keys (created_at);

-- The audit trail, which only grows.
CREATE TABLE audit_events (
    id BIGSERIAL NOT NULL,
    at TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    action TEXT NOT NULL,
    actor_kind TEXT NOT NULL,
    actor_id TEXT,
    subject_kind TEXT,
    subject_id TEXT,
    ip_prefix TEXT,
    request_id TEXT,
    details JSONB NOT NULL DEFAULT '{}',
    CONSTRAINT audit_events_pkey PRIMARY KEY (id)
);
CREATE INDEX audit_events_actor_kind_actor_id_at_idx ON audit_events (actor_kind, actor_id, at);
CREATE INDEX audit_events_at_idx ON audit_events (at);
CREATE INDEX audit_events_subject_kind_subject_id_at_idx ON audit_events (subject_kind, subject_id, at);

ALTER TABLE identities ADD CONSTRAINT identities_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id)
    ON DELETE CASCADE ON UPDATE CASCADE;
ALTER TABLE auth_sessions ADD CONSTRAINT auth_sessions_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id)
    ON DELETE CASCADE ON UPDATE CASCADE;
ALTER TABLE partner_keys ADD CONSTRAINT partner_keys_partner_id_fkey FOREIGN KEY (partner_id) REFERENCES partners(id)
    ON DELETE CASCADE ON UPDATE CASCADE;
ALTER TABLE games ADD CONSTRAINT games_current_version_id_fkey FOREIGN KEY (current_version_id) REFERENCES game_versions(id)
    ON DELETE RESTRICT ON UPDATE CASCADE;
ALTER TABLE games ADD CONSTRAINT games_partner_id_fkey FOREIGN KEY (partner_id) REFERENCES partners(id)
    ON DELETE RESTRICT ON UPDATE CASCADE;
ALTER TABLE games ADD CONSTRAINT games_picture_id_fkey FOREIGN KEY (picture_id) REFERENCES game_pictures(id)
    ON DELETE SET NULL ON UPDATE CASCADE;
ALTER TABLE game_versions ADD CONSTRAINT game_versions_game_id_fkey FOREIGN KEY (game_id) REFERENCES games(id)
    ON DELETE CASCADE ON UPDATE CASCADE;
ALTER TABLE game_pictures ADD CONSTRAINT game_pictures_game_id_fkey FOREIGN KEY (game_id) REFERENCES games(id)
    ON DELETE CASCADE ON UPDATE CASCADE;
ALTER TABLE game_uploads ADD CONSTRAINT game_uploads_game_id_fkey FOREIGN KEY (game_id) REFERENCES games(id)
    ON DELETE CASCADE ON UPDATE CASCADE;
ALTER TABLE favorites ADD CONSTRAINT favorites_game_id_fkey FOREIGN KEY (game_id) REFERENCES games(id)
    ON DELETE CASCADE ON UPDATE CASCADE;
ALTER TABLE favorites ADD CONSTRAINT favorites_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id)
    ON DELETE CASCADE ON UPDATE CASCADE;
ALTER TABLE game_launch_days ADD CONSTRAINT game_launch_days_game_id_fkey FOREIGN KEY (game_id) REFERENCES games(id)
    ON DELETE CASCADE ON UPDATE CASCADE;
ALTER TABLE save_slots ADD CONSTRAINT save_slots_game_id_fkey FOREIGN KEY (game_id) REFERENCES games(id)
    ON DELETE CASCADE ON UPDATE CASCADE;
ALTER TABLE save_slots ADD CONSTRAINT save_slots_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id)
    ON DELETE CASCADE ON UPDATE CASCADE;
ALTER TABLE game_sessions ADD CONSTRAINT game_sessions_game_id_fkey FOREIGN KEY (game_id) REFERENCES games(id)
    ON DELETE CASCADE ON UPDATE CASCADE;
ALTER TABLE game_sessions ADD CONSTRAINT game_sessions_slot_id_fkey FOREIGN KEY (slot_id) REFERENCES save_slots(id)
    ON DELETE SET NULL ON UPDATE CASCADE;
ALTER TABLE game_sessions ADD CONSTRAINT game_sessions_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id)
    ON DELETE CASCADE ON UPDATE CASCADE;
ALTER TABLE game_sessions ADD CONSTRAINT game_sessions_version_id_fkey FOREIGN KEY (version_id) REFERENCES game_versions(id)
    ON DELETE RESTRICT ON UPDATE CASCADE;

-- A sigma at the end of a word has another lower-case letter than elsewhere, and a search term may end where the word goes
-- on. Names with a final sigma are therefore searched in two forms, the second with one sigma throughout. A line feed
-- separates the forms, as it does title and developer: no search term can contain one. The column is not generated, because
-- changing the expression of a generated column rewrites the table.
CREATE FUNCTION write_search_text() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW."search_text" := lower((NEW."title" || E'\n' || NEW."developer") COLLATE "und-x-icu");
    IF strpos(NEW."search_text", 'ς') > 0 THEN
        NEW."search_text" := NEW."search_text" || E'\n' || replace(NEW."search_text", 'ς', 'σ');
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER games_search_text BEFORE INSERT OR UPDATE OF title, developer ON games
    FOR EACH ROW EXECUTE FUNCTION write_search_text();

-- Counts the changes to everything that a partner can see of a game. A change made for another revision is refused.
CREATE FUNCTION count_game_revision() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.revision := OLD.revision + 1;
    RETURN NEW;
END
$$;
CREATE TRIGGER games_count_revision BEFORE UPDATE ON games FOR EACH ROW
    WHEN ((OLD.title, OLD.developer, OLD.description, OLD.tags, OLD.launcher, OLD.engine_dir, OLD.thumbnail,
           OLD.screenshots, OLD.content_rating, OLD.languages, OLD.website, OLD.release_date, OLD.network,
           OLD.save_limit_mb, OLD.status, OLD.current_version_id, OLD.memory_mb, OLD.cpu_millicores,
           OLD.gpu_share, OLD.picture_width, OLD.picture_height, OLD.picture_id)
        IS DISTINCT FROM
          (NEW.title, NEW.developer, NEW.description, NEW.tags, NEW.launcher, NEW.engine_dir, NEW.thumbnail,
           NEW.screenshots, NEW.content_rating, NEW.languages, NEW.website, NEW.release_date, NEW.network,
           NEW.save_limit_mb, NEW.status, NEW.current_version_id, NEW.memory_mb, NEW.cpu_millicores,
           NEW.gpu_share, NEW.picture_width, NEW.picture_height, NEW.picture_id))
    EXECUTE FUNCTION count_game_revision();

-- Counts listed games as they come and go, because counting them all takes longer than the rest of a page. The revision
-- changes with everything that a search or a tag could count, so a count is valid while the revision stands. Concurrent
-- changes wait for each other on the single row, so no two states share a revision.
CREATE FUNCTION count_listed_games() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    change INTEGER := 0;
    is_changed BOOLEAN;
BEGIN
    IF TG_OP <> 'DELETE' THEN
        change := change + (SELECT count(*) FROM "new_games" WHERE "status" = 'active' AND "deleted_at" IS NULL);
    END IF;
    IF TG_OP <> 'INSERT' THEN
        change := change - (SELECT count(*) FROM "old_games" WHERE "status" = 'active' AND "deleted_at" IS NULL);
    END IF;
    is_changed := change <> 0;
    IF TG_OP = 'UPDATE' AND NOT is_changed THEN
        is_changed := EXISTS (
            SELECT "id", "search_text", "tag_keys" FROM "new_games" WHERE "status" = 'active' AND "deleted_at" IS NULL
            EXCEPT
            SELECT "id", "search_text", "tag_keys" FROM "old_games" WHERE "status" = 'active' AND "deleted_at" IS NULL
        );
    END IF;
    IF is_changed THEN
        UPDATE "catalog_totals" SET "listed" = "listed" + change, "revision" = "revision" + 1;
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER games_listed_insert AFTER INSERT ON games
    REFERENCING NEW TABLE AS new_games FOR EACH STATEMENT EXECUTE FUNCTION count_listed_games();
CREATE TRIGGER games_listed_update AFTER UPDATE ON games
    REFERENCING OLD TABLE AS old_games NEW TABLE AS new_games FOR EACH STATEMENT EXECUTE FUNCTION count_listed_games();
CREATE TRIGGER games_listed_delete AFTER DELETE ON games
    REFERENCING OLD TABLE AS old_games FOR EACH STATEMENT EXECUTE FUNCTION count_listed_games();
INSERT INTO catalog_totals (listed) VALUES (0);

-- A slot that moves to another save leaves one behind, and a removed slot leaves all of them. Code that changes or removes
-- slots need not know about sweeping.
CREATE FUNCTION note_superseded_saves() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    is_deleted BOOLEAN := TG_OP = 'DELETE';
BEGIN
    INSERT INTO "save_sweeps" AS sweep ("slot_id", "due_at", "slot_deleted_at")
    VALUES (OLD."id", CASE WHEN is_deleted THEN now() ELSE now() + interval '1 hour' END, CASE WHEN is_deleted THEN now() END)
    ON CONFLICT ("slot_id") DO UPDATE SET
        "due_at" = LEAST(sweep."due_at", EXCLUDED."due_at"),
        "changes" = sweep."changes" + 1,
        "slot_deleted_at" = EXCLUDED."slot_deleted_at";
    RETURN NULL;
END $$;
CREATE TRIGGER save_slots_moved AFTER UPDATE OF object_key ON save_slots
    FOR EACH ROW WHEN (OLD.object_key IS NOT NULL AND OLD.object_key IS DISTINCT FROM NEW.object_key)
    EXECUTE FUNCTION note_superseded_saves();
CREATE TRIGGER save_slots_removed AFTER DELETE ON save_slots FOR EACH ROW EXECUTE FUNCTION note_superseded_saves();

-- A version that is added without moving the slot also changes which versions are kept.
CREATE FUNCTION note_save_version() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO "save_sweeps" AS sweep ("slot_id", "due_at") VALUES (NEW."slot_id", now() + interval '1 hour')
    ON CONFLICT ("slot_id") DO UPDATE SET "due_at" = LEAST(sweep."due_at", EXCLUDED."due_at"), "changes" = sweep."changes" + 1;
    RETURN NULL;
END $$;
CREATE TRIGGER save_versions_noted AFTER INSERT ON save_versions
    FOR EACH ROW WHEN (NEW.kind <> 'played') EXECUTE FUNCTION note_save_version();

-- A session that has given back its slot may still have stored an unreported save, so its slot is swept.
CREATE FUNCTION note_released_slot() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO "save_sweeps" AS sweep ("slot_id", "due_at")
    SELECT s."id", now() + interval '1 hour' FROM "save_slots" s WHERE s."id" = NEW."slot_id"
    ON CONFLICT ("slot_id") DO UPDATE SET "due_at" = LEAST(sweep."due_at", EXCLUDED."due_at"), "changes" = sweep."changes" + 1;
    RETURN NULL;
END $$;
CREATE TRIGGER game_sessions_released AFTER UPDATE OF slot_released_at ON game_sessions
    FOR EACH ROW WHEN (OLD.slot_released_at IS NULL AND NEW.slot_released_at IS NOT NULL AND NEW.slot_id IS NOT NULL)
    EXECUTE FUNCTION note_released_slot();

-- An ended session that its slot no longer waits for gives the slot back when the next one is launched.
CREATE FUNCTION release_former_owner() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE "game_sessions" former SET "slot_released_at" = now() FROM "save_slots" s
    WHERE s."id" = NEW."slot_id" AND former."slot_id" = s."id" AND former."slot_released_at" IS NULL
      AND former."status" IN ('stopped', 'error') AND s."pending_session" IS DISTINCT FROM former."id";
    RETURN NEW;
END $$;
CREATE TRIGGER game_sessions_former_owner BEFORE INSERT ON game_sessions
    FOR EACH ROW WHEN (NEW.slot_id IS NOT NULL) EXECUTE FUNCTION release_former_owner();

-- The audit trail only grows: rows are neither changed nor removed, and the table is not truncated.
CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'audit events are append-only';
END $$;
CREATE TRIGGER audit_events_append_only BEFORE UPDATE OR DELETE ON audit_events FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER audit_events_not_emptied BEFORE TRUNCATE ON audit_events FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

INSERT INTO idle_sweeps (id) VALUES (1);
