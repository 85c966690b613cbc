-- AlterTable
ALTER TABLE "games" ADD COLUMN     "revision" INTEGER NOT NULL DEFAULT 0;

-- Below: what Prisma's schema language cannot say.

-- Counts whatever a partner can see of a game change, by whichever way: a change that was made for another revision is refused.
CREATE FUNCTION count_game_revision() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.revision := OLD.revision + 1;
    RETURN NEW;
END
$$;
CREATE TRIGGER games_count_revision BEFORE UPDATE ON "games" FOR EACH ROW
    WHEN ((OLD.title, OLD.developer, OLD.description, OLD.tags, OLD.launcher, OLD.engine_dir, OLD.thumbnail, OLD.screenshots,
           OLD.content_rating, OLD.languages, OLD.website, OLD.release_date, OLD.status, OLD.current_version_id)
        IS DISTINCT FROM
          (NEW.title, NEW.developer, NEW.description, NEW.tags, NEW.launcher, NEW.engine_dir, NEW.thumbnail, NEW.screenshots,
           NEW.content_rating, NEW.languages, NEW.website, NEW.release_date, NEW.status, NEW.current_version_id))
    EXECUTE FUNCTION count_game_revision();
