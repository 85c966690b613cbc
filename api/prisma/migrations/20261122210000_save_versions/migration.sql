-- CreateEnum
CREATE TYPE "save_version_kind" AS ENUM ('played', 'conflict', 'requested', 'restored', 'imported');

-- AlterTable
ALTER TABLE "game_sessions" ADD COLUMN "slot_released_at" TIMESTAMPTZ(3);

-- AlterTable
ALTER TABLE "save_slots" ADD COLUMN "custom_label" TEXT;

-- AlterTable
ALTER TABLE "save_sweeps" ADD COLUMN "seen_key" TEXT;

-- CreateTable
CREATE TABLE "save_versions" (
    "id" TEXT NOT NULL DEFAULT (gen_random_uuid())::text,
    "slot_id" TEXT NOT NULL,
    "kind" "save_version_kind" NOT NULL,
    "game_session" TEXT,
    "object_key" TEXT NOT NULL,
    "sha256" TEXT NOT NULL,
    "bytes" BIGINT NOT NULL,
    "unpacked_bytes" BIGINT,
    "generation" INTEGER NOT NULL,
    "sequence" INTEGER NOT NULL DEFAULT 0,
    "attempt" INTEGER NOT NULL DEFAULT 0,
    "stored_at" TIMESTAMPTZ(3) NOT NULL DEFAULT now(),
    "superseded_at" TIMESTAMPTZ(3),
    "unreadable_at" TIMESTAMPTZ(3),
    "check_due_at" TIMESTAMPTZ(3) NOT NULL DEFAULT now(),

    CONSTRAINT "save_versions_pkey" PRIMARY KEY ("id")
);

-- CreateIndex
CREATE INDEX "save_versions_slot_id_stored_at_idx" ON "save_versions"("slot_id", "stored_at");

-- CreateIndex
CREATE INDEX "save_versions_check_due_at_idx" ON "save_versions"("check_due_at");

-- Below: what Prisma's schema language cannot say.

-- A session has one version that moves with its saves, and one more for those that came when the slot was not its own any longer.
CREATE UNIQUE INDEX "save_versions_of_session" ON "save_versions"("slot_id", "game_session", "kind") WHERE "kind" IN ('played', 'conflict');

-- Sessions that have ended own their slot no longer, but for those whose last save is awaited and whose slot nobody plays.
UPDATE "game_sessions" ended SET "slot_released_at" = COALESCE(ended."ended_at", now())
WHERE ended."status" IN ('stopped', 'error') AND NOT EXISTS (
  SELECT 1 FROM "save_slots" s WHERE s."id" = ended."slot_id" AND s."pending_session" = ended."id" AND NOT EXISTS (
    SELECT 1 FROM "game_sessions" active WHERE active."slot_id" = s."id" AND active."status" IN ('starting', 'running', 'stopping')));

-- One session at a time owns a slot: whoever stores a session has claimed its slot, or fails.
CREATE UNIQUE INDEX "game_sessions_slot_owner" ON "game_sessions"("slot_id") WHERE "slot_released_at" IS NULL;

-- What the slots hold so far becomes the first version of each.
INSERT INTO "save_versions" ("slot_id", "kind", "game_session", "object_key", "sha256", "bytes", "unpacked_bytes", "generation", "sequence", "attempt", "stored_at")
SELECT "id", 'played', "saved_by_session", "object_key", "sha256", "bytes", "unpacked_bytes", "generation", "sequence", "attempt", "last_played_at"
FROM "save_slots" WHERE "object_key" IS NOT NULL;

-- A version that comes without a move of the slot changes what is kept of it, too.
CREATE FUNCTION note_save_version() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO "save_sweeps" AS sweep ("slot_id", "due_at") VALUES (NEW."slot_id", now() + interval '1 hour')
    ON CONFLICT ("slot_id") DO UPDATE SET "due_at" = LEAST(sweep."due_at", EXCLUDED."due_at"), "changes" = sweep."changes" + 1;
    RETURN NULL;
END $$;
CREATE TRIGGER "save_versions_noted" AFTER INSERT ON "save_versions"
    FOR EACH ROW WHEN (NEW."kind" <> 'played') EXECUTE FUNCTION note_save_version();
