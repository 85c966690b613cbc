-- CreateEnum
CREATE TYPE "game_network" AS ENUM ('none', 'internet');

-- AlterTable
ALTER TABLE "games" ADD COLUMN     "network" "game_network" NOT NULL DEFAULT 'none',
ADD COLUMN     "save_limit_mb" INTEGER;

-- AlterTable
ALTER TABLE "save_slots" ADD COLUMN     "attempt" INTEGER NOT NULL DEFAULT 0,
ADD COLUMN     "unpacked_bytes" BIGINT;

-- Below: what Prisma's schema language cannot say.

-- The two are among what a partner can see.
DROP TRIGGER games_count_revision ON "games";
CREATE TRIGGER games_count_revision BEFORE UPDATE ON "games" FOR EACH ROW
    WHEN ((OLD.title, OLD.developer, OLD.description, OLD.tags, OLD.launcher, OLD.engine_dir, OLD.thumbnail, OLD.screenshots,
           OLD.content_rating, OLD.languages, OLD.website, OLD.release_date, OLD.network, OLD.save_limit_mb, OLD.status, OLD.current_version_id)
        IS DISTINCT FROM
          (NEW.title, NEW.developer, NEW.description, NEW.tags, NEW.launcher, NEW.engine_dir, NEW.thumbnail, NEW.screenshots,
           NEW.content_rating, NEW.languages, NEW.website, NEW.release_date, NEW.network, NEW.save_limit_mb, NEW.status, NEW.current_version_id))
    EXECUTE FUNCTION count_game_revision();
