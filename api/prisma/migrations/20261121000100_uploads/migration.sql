-- AlterTable
ALTER TABLE "games" ADD COLUMN     "cache_applied_revision" INTEGER NOT NULL DEFAULT 0,
ADD COLUMN     "cache_revision" INTEGER NOT NULL DEFAULT 0;

-- AlterTable
ALTER TABLE "game_versions" ADD COLUMN     "removed_at" TIMESTAMPTZ(3),
ADD COLUMN     "superseded_at" TIMESTAMPTZ(3);

-- AlterTable
ALTER TABLE "save_slots" ADD COLUMN     "pending_session" TEXT;

-- CreateTable
CREATE TABLE "game_uploads" (
    "id" TEXT NOT NULL,
    "game_id" TEXT NOT NULL,
    "object_key" TEXT NOT NULL,
    "started_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "renewed_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "abandoned_at" TIMESTAMPTZ(3),

    CONSTRAINT "game_uploads_pkey" PRIMARY KEY ("id")
);

-- CreateIndex
CREATE UNIQUE INDEX "game_uploads_object_key_key" ON "game_uploads"("object_key");

-- CreateIndex
CREATE INDEX "game_uploads_renewed_at_idx" ON "game_uploads"("renewed_at");

-- AddForeignKey
ALTER TABLE "game_uploads" ADD CONSTRAINT "game_uploads_game_id_fkey" FOREIGN KEY ("game_id") REFERENCES "games"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- Below: what Prisma's schema language cannot say.

-- One upload per game, whoever races.
CREATE UNIQUE INDEX "game_uploads_one_per_game" ON "game_uploads"("game_id") WHERE "abandoned_at" IS NULL;
CREATE INDEX "games_cache_behind" ON "games"("id") WHERE "cache_applied_revision" <> "cache_revision";
CREATE INDEX "game_versions_to_remove" ON "game_versions"("superseded_at") WHERE "superseded_at" IS NOT NULL AND "removed_at" IS NULL;
