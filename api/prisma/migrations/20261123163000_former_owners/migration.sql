-- Below: what Prisma's schema language cannot say.

-- A release that knows of no owners takes a slot for free when the slot waits for nobody's save. To it the sessions that it has recorded as ended own their
-- slots for ever, as only a newer release gives them back: after a return to it each slot could be played once. Whom a newer release lets keep a slot the slot
-- waits for, so that its own launches find nothing to do here.
CREATE FUNCTION release_former_owner() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE "game_sessions" former SET "slot_released_at" = now() FROM "save_slots" s
    WHERE s."id" = NEW."slot_id" AND former."slot_id" = s."id" AND former."slot_released_at" IS NULL
      AND former."status" IN ('stopped', 'error') AND s."pending_session" IS DISTINCT FROM former."id";
    RETURN NEW;
END $$;
CREATE TRIGGER "game_sessions_former_owner" BEFORE INSERT ON "game_sessions"
    FOR EACH ROW WHEN (NEW."slot_id" IS NOT NULL) EXECUTE FUNCTION release_former_owner();
