-- An admin hides a game from players.
ALTER TABLE games ADD COLUMN hidden_at TIMESTAMPTZ(3);
ALTER TABLE games ADD COLUMN hidden_reason TEXT;
ALTER TABLE games ADD COLUMN hidden_with_partner BOOLEAN NOT NULL DEFAULT false;

-- A hidden game is never 'active', whatever its partner does in the meantime. So nothing that players use, nor any index of
-- the catalogue, needs another condition, and the previous release does not show it either.
CREATE FUNCTION apply_hiding() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.hidden_at IS NOT NULL THEN
        NEW.status := 'pending_upload';
    ELSIF NEW.current_version_id IS NOT NULL THEN
        NEW.status := 'active';
    END IF;
    RETURN NEW;
END
$$;
CREATE TRIGGER games_apply_hiding BEFORE UPDATE ON games FOR EACH ROW
    WHEN (OLD.hidden_at IS NOT NULL OR NEW.hidden_at IS NOT NULL)
    EXECUTE FUNCTION apply_hiding();

-- Partners see it, so a change counts as a new revision.
DROP TRIGGER games_count_revision ON games;
CREATE TRIGGER games_count_revision BEFORE UPDATE ON games FOR EACH ROW
    WHEN ((OLD.title, OLD.developer, OLD.description, OLD.tags, OLD.launcher, OLD.engine_dir, OLD.thumbnail,
           OLD.screenshots, OLD.content_rating, OLD.languages, OLD.website, OLD.release_date, OLD.network,
           OLD.save_limit_mb, OLD.status, OLD.current_version_id, OLD.memory_mb, OLD.cpu_millicores,
           OLD.gpu_share, OLD.picture_width, OLD.picture_height, OLD.picture_id, OLD.stop_grace_seconds,
           OLD.hidden_at, OLD.hidden_reason)
        IS DISTINCT FROM
          (NEW.title, NEW.developer, NEW.description, NEW.tags, NEW.launcher, NEW.engine_dir, NEW.thumbnail,
           NEW.screenshots, NEW.content_rating, NEW.languages, NEW.website, NEW.release_date, NEW.network,
           NEW.save_limit_mb, NEW.status, NEW.current_version_id, NEW.memory_mb, NEW.cpu_millicores,
           NEW.gpu_share, NEW.picture_width, NEW.picture_height, NEW.picture_id, NEW.stop_grace_seconds,
           NEW.hidden_at, NEW.hidden_reason))
    EXECUTE FUNCTION count_game_revision();
