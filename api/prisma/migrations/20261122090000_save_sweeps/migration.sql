-- CreateTable
CREATE TABLE "save_sweeps" (
    "slot_id" TEXT NOT NULL,
    "due_at" TIMESTAMPTZ(3) NOT NULL,
    "changes" INTEGER NOT NULL DEFAULT 0,
    "slot_deleted_at" TIMESTAMPTZ(3),

    CONSTRAINT "save_sweeps_pkey" PRIMARY KEY ("slot_id")
);

-- CreateIndex
CREATE INDEX "save_sweeps_due_at_idx" ON "save_sweeps"("due_at");

-- Below: what Prisma's schema language cannot say.

-- A slot that points to another save than before leaves one behind, and a slot that is removed leaves all; whoever changes or
-- removes slots, however, need not know of it.
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

CREATE TRIGGER "save_slots_moved" AFTER UPDATE OF "object_key" ON "save_slots"
    FOR EACH ROW WHEN (OLD."object_key" IS NOT NULL AND OLD."object_key" IS DISTINCT FROM NEW."object_key") EXECUTE FUNCTION note_superseded_saves();
CREATE TRIGGER "save_slots_removed" AFTER DELETE ON "save_slots" FOR EACH ROW EXECUTE FUNCTION note_superseded_saves();

-- What was left behind so far.
INSERT INTO "save_sweeps" ("slot_id", "due_at") SELECT "id", now() FROM "save_slots" WHERE "object_key" IS NOT NULL;
