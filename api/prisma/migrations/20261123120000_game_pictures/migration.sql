-- CreateTable
CREATE TABLE "game_pictures" (
    "id" TEXT NOT NULL,
    "game_id" TEXT NOT NULL,
    "sha256" TEXT NOT NULL,
    "type" TEXT NOT NULL,
    "size_bytes" INTEGER NOT NULL,
    "width" INTEGER NOT NULL,
    "height" INTEGER NOT NULL,
    "superseded_at" TIMESTAMPTZ(3) DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "game_pictures_pkey" PRIMARY KEY ("id")
);

-- AlterTable
ALTER TABLE "games" ADD COLUMN     "picture_id" TEXT;

-- CreateIndex
CREATE INDEX "game_pictures_game_id_idx" ON "game_pictures"("game_id");

-- CreateIndex
CREATE UNIQUE INDEX "games_picture_id_key" ON "games"("picture_id");

-- AddForeignKey
ALTER TABLE "games" ADD CONSTRAINT "games_picture_id_fkey" FOREIGN KEY ("picture_id") REFERENCES "game_pictures"("id") ON DELETE SET NULL ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "game_pictures" ADD CONSTRAINT "game_pictures_game_id_fkey" FOREIGN KEY ("game_id") REFERENCES "games"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- Below: what Prisma's schema language cannot say.

-- What the sweeper looks through.
CREATE INDEX "game_pictures_superseded" ON "game_pictures" ("superseded_at") WHERE "superseded_at" IS NOT NULL;

-- The picture is among what a partner can see.
DROP TRIGGER games_count_revision ON "games";
CREATE TRIGGER games_count_revision BEFORE UPDATE ON "games" FOR EACH ROW
    WHEN ((OLD.title, OLD.developer, OLD.description, OLD.tags, OLD.launcher, OLD.engine_dir, OLD.thumbnail, OLD.screenshots,
           OLD.content_rating, OLD.languages, OLD.website, OLD.release_date, OLD.network, OLD.save_limit_mb, OLD.status, OLD.current_version_id,
           OLD.memory_mb, OLD.cpu_millicores, OLD.gpu_share, OLD.picture_width, OLD.picture_height, OLD.picture_id)
        IS DISTINCT FROM
          (NEW.title, NEW.developer, NEW.description, NEW.tags, NEW.launcher, NEW.engine_dir, NEW.thumbnail, NEW.screenshots,
           NEW.content_rating, NEW.languages, NEW.website, NEW.release_date, NEW.network, NEW.save_limit_mb, NEW.status, NEW.current_version_id,
           NEW.memory_mb, NEW.cpu_millicores, NEW.gpu_share, NEW.picture_width, NEW.picture_height, NEW.picture_id))
    EXECUTE FUNCTION count_game_revision();
