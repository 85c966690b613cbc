-- Below: what Prisma's schema language cannot say.

-- A session that has given back its slot may still have stored a save of which nobody was told: its slot is looked through.
CREATE FUNCTION note_released_slot() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO "save_sweeps" AS sweep ("slot_id", "due_at")
    SELECT s."id", now() + interval '1 hour' FROM "save_slots" s WHERE s."id" = NEW."slot_id"
    ON CONFLICT ("slot_id") DO UPDATE SET "due_at" = LEAST(sweep."due_at", EXCLUDED."due_at"), "changes" = sweep."changes" + 1;
    RETURN NULL;
END $$;
CREATE TRIGGER "game_sessions_released" AFTER UPDATE OF "slot_released_at" ON "game_sessions"
    FOR EACH ROW WHEN (OLD."slot_released_at" IS NULL AND NEW."slot_released_at" IS NOT NULL AND NEW."slot_id" IS NOT NULL)
    EXECUTE FUNCTION note_released_slot();

-- What was played before, and whose sweeps have ended.
INSERT INTO "save_sweeps" ("slot_id", "due_at") SELECT "id", now() + interval '1 hour' FROM "save_slots"
WHERE "last_played_at" > now() - interval '30 days' ON CONFLICT ("slot_id") DO NOTHING;
