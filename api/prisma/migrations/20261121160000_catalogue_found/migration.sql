-- What Prisma's schema language cannot say.

-- One index finds games by term, by tag, and by both together. Of two indexes with the same condition Postgres never uses both: a common
-- term with a rare tag was found by one of them, and all its matches were tested for the other.
CREATE INDEX "games_catalog_found" ON "games" USING gin ("search_text" gin_trgm_ops, "tag_keys") WHERE "status" = 'active' AND "deleted_at" IS NULL;
DROP INDEX "games_catalog_search", "games_catalog_tags";
