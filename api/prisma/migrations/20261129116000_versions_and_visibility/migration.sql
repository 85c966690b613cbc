-- Partners name versions and go back to earlier ones. A version keeps the launcher and the engine directory that
-- it was checked with, so that going back is one step; null for versions of an earlier release.
ALTER TABLE game_versions
    ADD COLUMN label TEXT,
    ADD COLUMN notes TEXT NOT NULL DEFAULT '',
    ADD COLUMN launcher TEXT,
    ADD COLUMN engine_dir TEXT,
    ADD COLUMN removing_at TIMESTAMPTZ(3);
UPDATE game_versions SET launcher = games.launcher, engine_dir = games.engine_dir
    FROM games WHERE game_versions.id = games.current_version_id;

-- A partner who changes the launcher means the current version's.
CREATE FUNCTION follow_launcher() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE "game_versions" SET "launcher" = NEW."launcher", "engine_dir" = NEW."engine_dir"
        WHERE "id" = NEW."current_version_id";
    RETURN NULL;
END $$;
CREATE TRIGGER games_launcher_changed AFTER UPDATE OF launcher, engine_dir ON games FOR EACH ROW
    WHEN ((OLD.launcher, OLD.engine_dir) IS DISTINCT FROM (NEW.launcher, NEW.engine_dir))
    EXECUTE FUNCTION follow_launcher();

-- Private games, and uploads that do not become current at once.
CREATE TYPE game_visibility AS ENUM ('public', 'private');
ALTER TABLE games
    ADD COLUMN visibility game_visibility NOT NULL DEFAULT 'public',
    ADD COLUMN auto_activate BOOLEAN NOT NULL DEFAULT true,
    ADD COLUMN is_listed BOOLEAN NOT NULL DEFAULT false;

-- Whether every player sees the game. The catalogue's indexes have this one column as their condition, so another
-- condition changes only this function and not the indexes.
CREATE FUNCTION set_game_listed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW."is_listed" := NEW."status" = 'active' AND NEW."deleted_at" IS NULL AND NEW."hidden_at" IS NULL
        AND NEW."visibility" = 'public';
    RETURN NEW;
END $$;
-- It runs after games_apply_hiding, by its name.
CREATE TRIGGER games_set_listed BEFORE INSERT OR UPDATE ON games
    FOR EACH ROW EXECUTE FUNCTION set_game_listed();
UPDATE games SET is_listed = true WHERE status = 'active' AND deleted_at IS NULL;

DROP INDEX games_catalog_created, games_catalog_created_desc, games_catalog_found, games_catalog_popular,
    games_catalog_popular_desc, games_catalog_title;
CREATE INDEX games_catalog_created ON games (created_at, title_key, id) INCLUDE (search_text, tag_keys)
    WHERE is_listed;
CREATE INDEX games_catalog_created_desc ON games (created_at DESC, title_key, id) INCLUDE (search_text, tag_keys)
    WHERE is_listed;
CREATE INDEX games_catalog_found ON games USING gin (search_text gin_trgm_ops, tag_keys)
    WHERE is_listed;
CREATE INDEX games_catalog_popular ON games (popularity, title_key, id) INCLUDE (search_text, tag_keys)
    WHERE is_listed;
CREATE INDEX games_catalog_popular_desc ON games (popularity DESC, title_key, id) INCLUDE (search_text, tag_keys)
    WHERE is_listed;
CREATE INDEX games_catalog_title ON games (title_key, id) INCLUDE (search_text, tag_keys)
    WHERE is_listed;

CREATE OR REPLACE FUNCTION count_listed_games() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    change INTEGER := 0;
    is_changed BOOLEAN;
BEGIN
    IF TG_OP <> 'DELETE' THEN
        change := change + (SELECT count(*) FROM "new_games" WHERE "is_listed");
    END IF;
    IF TG_OP <> 'INSERT' THEN
        change := change - (SELECT count(*) FROM "old_games" WHERE "is_listed");
    END IF;
    is_changed := change <> 0;
    IF TG_OP = 'UPDATE' AND NOT is_changed THEN
        is_changed := EXISTS (
            SELECT "id", "search_text", "tag_keys" FROM "new_games" WHERE "is_listed"
            EXCEPT
            SELECT "id", "search_text", "tag_keys" FROM "old_games" WHERE "is_listed"
        );
    END IF;
    IF is_changed THEN
        UPDATE "catalog_totals" SET "listed" = "listed" + change, "revision" = "revision" + 1;
    END IF;
    RETURN NULL;
END $$;

-- Partners see both, so a change counts as a new revision.
DROP TRIGGER games_count_revision ON games;
CREATE TRIGGER games_count_revision BEFORE UPDATE ON games FOR EACH ROW
    WHEN ((OLD.title, OLD.developer, OLD.description, OLD.tags, OLD.launcher, OLD.engine_dir, OLD.thumbnail,
           OLD.screenshots, OLD.content_rating, OLD.languages, OLD.website, OLD.release_date, OLD.network,
           OLD.save_limit_mb, OLD.status, OLD.current_version_id, OLD.memory_mb, OLD.cpu_millicores,
           OLD.gpu_share, OLD.picture_width, OLD.picture_height, OLD.picture_id, OLD.stop_grace_seconds,
           OLD.hidden_at, OLD.hidden_reason, OLD.visibility, OLD.auto_activate)
        IS DISTINCT FROM
          (NEW.title, NEW.developer, NEW.description, NEW.tags, NEW.launcher, NEW.engine_dir, NEW.thumbnail,
           NEW.screenshots, NEW.content_rating, NEW.languages, NEW.website, NEW.release_date, NEW.network,
           NEW.save_limit_mb, NEW.status, NEW.current_version_id, NEW.memory_mb, NEW.cpu_millicores,
           NEW.gpu_share, NEW.picture_width, NEW.picture_height, NEW.picture_id, NEW.stop_grace_seconds,
           NEW.hidden_at, NEW.hidden_reason, NEW.visibility, NEW.auto_activate))
    EXECUTE FUNCTION count_game_revision();
