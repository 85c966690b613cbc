-- How long a game may take to end after SIGTERM.
ALTER TABLE games ADD COLUMN stop_grace_seconds INTEGER;

-- Partners see it, so a change counts as a new revision.
DROP TRIGGER games_count_revision ON games;
CREATE TRIGGER games_count_revision BEFORE UPDATE ON games FOR EACH ROW
    WHEN ((OLD.title, OLD.developer, OLD.description, OLD.tags, OLD.launcher, OLD.engine_dir, OLD.thumbnail,
           OLD.screenshots, OLD.content_rating, OLD.languages, OLD.website, OLD.release_date, OLD.network,
           OLD.save_limit_mb, OLD.status, OLD.current_version_id, OLD.memory_mb, OLD.cpu_millicores,
           OLD.gpu_share, OLD.picture_width, OLD.picture_height, OLD.picture_id, OLD.stop_grace_seconds)
        IS DISTINCT FROM
          (NEW.title, NEW.developer, NEW.description, NEW.tags, NEW.launcher, NEW.engine_dir, NEW.thumbnail,
           NEW.screenshots, NEW.content_rating, NEW.languages, NEW.website, NEW.release_date, NEW.network,
           NEW.save_limit_mb, NEW.status, NEW.current_version_id, NEW.memory_mb, NEW.cpu_millicores,
           NEW.gpu_share, NEW.picture_width, NEW.picture_height, NEW.picture_id, NEW.stop_grace_seconds))
    EXECUTE FUNCTION count_game_revision();
