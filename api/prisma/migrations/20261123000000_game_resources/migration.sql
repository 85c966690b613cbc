-- AlterTable
ALTER TABLE "games" ADD COLUMN     "cpu_millicores" INTEGER,
ADD COLUMN     "gpu_share" INTEGER,
ADD COLUMN     "memory_mb" INTEGER,
ADD COLUMN     "picture_height" INTEGER,
ADD COLUMN     "picture_width" INTEGER,
ADD COLUMN     "profile_highest_memory_mb" DOUBLE PRECISION,
ADD COLUMN     "profile_memory_floor_mb" INTEGER;

-- Below: what Prisma's schema language cannot say.

-- What sessions have used so far is known of each.
UPDATE "games" SET "profile_highest_memory_mb" = used."highest"
FROM (SELECT "game_id", max("peak_memory_mb") AS "highest" FROM "game_sessions" WHERE "peak_memory_mb" > 0 GROUP BY "game_id") used
WHERE used."game_id" = "games"."id";

-- What is declared is among what a partner can see.
DROP TRIGGER games_count_revision ON "games";
CREATE TRIGGER games_count_revision BEFORE UPDATE ON "games" FOR EACH ROW
    WHEN ((OLD.title, OLD.developer, OLD.description, OLD.tags, OLD.launcher, OLD.engine_dir, OLD.thumbnail, OLD.screenshots,
           OLD.content_rating, OLD.languages, OLD.website, OLD.release_date, OLD.network, OLD.save_limit_mb, OLD.status, OLD.current_version_id,
           OLD.memory_mb, OLD.cpu_millicores, OLD.gpu_share, OLD.picture_width, OLD.picture_height)
        IS DISTINCT FROM
          (NEW.title, NEW.developer, NEW.description, NEW.tags, NEW.launcher, NEW.engine_dir, NEW.thumbnail, NEW.screenshots,
           NEW.content_rating, NEW.languages, NEW.website, NEW.release_date, NEW.network, NEW.save_limit_mb, NEW.status, NEW.current_version_id,
           NEW.memory_mb, NEW.cpu_millicores, NEW.gpu_share, NEW.picture_width, NEW.picture_height))
    EXECUTE FUNCTION count_game_revision();
