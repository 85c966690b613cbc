-- AlterTable
ALTER TABLE "catalog_totals" ADD COLUMN "revision" BIGINT NOT NULL DEFAULT 0;

-- Below: what Prisma's schema language cannot say.

-- The revision moves with whatever a search or a tag could count: a count is right for as long as it stands still. Whoever
-- changes it waits for whoever did before, so no state has the revision of another.
CREATE OR REPLACE FUNCTION count_listed_games() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    change INTEGER := 0;
    is_changed BOOLEAN;
BEGIN
    IF TG_OP <> 'DELETE' THEN
        change := change + (SELECT count(*) FROM "new_games" WHERE "status" = 'active' AND "deleted_at" IS NULL);
    END IF;
    IF TG_OP <> 'INSERT' THEN
        change := change - (SELECT count(*) FROM "old_games" WHERE "status" = 'active' AND "deleted_at" IS NULL);
    END IF;
    is_changed := change <> 0;
    IF TG_OP = 'UPDATE' AND NOT is_changed THEN
        is_changed := EXISTS (
            SELECT "id", "search_text", "tag_keys" FROM "new_games" WHERE "status" = 'active' AND "deleted_at" IS NULL
            EXCEPT
            SELECT "id", "search_text", "tag_keys" FROM "old_games" WHERE "status" = 'active' AND "deleted_at" IS NULL
        );
    END IF;
    IF is_changed THEN
        UPDATE "catalog_totals" SET "listed" = "listed" + change, "revision" = "revision" + 1;
    END IF;
    RETURN NULL;
END $$;
