-- CreateTable
CREATE TABLE "idempotency_keys" (
    "principal" TEXT NOT NULL,
    "route" TEXT NOT NULL,
    "key" TEXT NOT NULL,
    "fingerprint" TEXT NOT NULL,
    "attempt" TEXT NOT NULL,
    "leased_until" TIMESTAMPTZ(3) NOT NULL,
    "answer" JSONB,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "idempotency_keys_pkey" PRIMARY KEY ("principal", "route", "key")
);

-- CreateTable
CREATE TABLE "catalog_totals" (
    "id" INTEGER NOT NULL DEFAULT 1,
    "listed" INTEGER NOT NULL,

    CONSTRAINT "catalog_totals_pkey" PRIMARY KEY ("id")
);

-- CreateIndex
CREATE INDEX "idempotency_keys_created_at_idx" ON "idempotency_keys"("created_at");

-- Below: what Prisma's schema language cannot say.

-- Each order of the catalogue comes from one index, backwards too; it also holds what is searched, so that a page of a common
-- term, and the count of its matches, are read from the index alone.
DROP INDEX "games_catalog_title", "games_catalog_created", "games_catalog_created_desc", "games_catalog_popular", "games_catalog_popular_desc";
CREATE INDEX "games_catalog_title" ON "games"("title_key", "id") INCLUDE ("search_text", "tag_keys")
    WHERE "status" = 'active' AND "deleted_at" IS NULL;
CREATE INDEX "games_catalog_created" ON "games"("created_at", "title_key", "id") INCLUDE ("search_text", "tag_keys")
    WHERE "status" = 'active' AND "deleted_at" IS NULL;
CREATE INDEX "games_catalog_created_desc" ON "games"("created_at" DESC, "title_key", "id") INCLUDE ("search_text", "tag_keys")
    WHERE "status" = 'active' AND "deleted_at" IS NULL;
CREATE INDEX "games_catalog_popular" ON "games"("popularity", "title_key", "id") INCLUDE ("search_text", "tag_keys")
    WHERE "status" = 'active' AND "deleted_at" IS NULL;
CREATE INDEX "games_catalog_popular_desc" ON "games"("popularity" DESC, "title_key", "id") INCLUDE ("search_text", "tag_keys")
    WHERE "status" = 'active' AND "deleted_at" IS NULL;

-- How many games are listed, counted as they come and go: counting them all takes longer than all else of a page.
ALTER TABLE "catalog_totals" ADD CONSTRAINT "catalog_totals_one_row" CHECK ("id" = 1);
INSERT INTO "catalog_totals" ("listed") SELECT count(*) FROM "games" WHERE "status" = 'active' AND "deleted_at" IS NULL;

CREATE FUNCTION count_listed_games() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    change INTEGER := 0;
BEGIN
    IF TG_OP <> 'DELETE' THEN
        change := change + (SELECT count(*) FROM "new_games" WHERE "status" = 'active' AND "deleted_at" IS NULL);
    END IF;
    IF TG_OP <> 'INSERT' THEN
        change := change - (SELECT count(*) FROM "old_games" WHERE "status" = 'active' AND "deleted_at" IS NULL);
    END IF;
    IF change <> 0 THEN
        UPDATE "catalog_totals" SET "listed" = "listed" + change;
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER "games_listed_insert" AFTER INSERT ON "games"
    REFERENCING NEW TABLE AS "new_games" FOR EACH STATEMENT EXECUTE FUNCTION count_listed_games();
CREATE TRIGGER "games_listed_update" AFTER UPDATE ON "games"
    REFERENCING OLD TABLE AS "old_games" NEW TABLE AS "new_games" FOR EACH STATEMENT EXECUTE FUNCTION count_listed_games();
CREATE TRIGGER "games_listed_delete" AFTER DELETE ON "games"
    REFERENCING OLD TABLE AS "old_games" FOR EACH STATEMENT EXECUTE FUNCTION count_listed_games();
