-- Below: what Prisma's schema language cannot say.

-- In lower case a sigma at a word's end is another letter than elsewhere, and terms that end in one are parts of words that go on. So names that have it are searched
-- in two forms, the second with one sigma throughout, as terms have from now on; the release before this one finds the first. A line feed parts them, as it does names.
-- The column is no generated one any more, for to change its expression the table and its indexes would be written anew, while nobody could read them.
ALTER TABLE "games" ALTER COLUMN "search_text" DROP EXPRESSION;

CREATE FUNCTION write_search_text() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW."search_text" := lower((NEW."title" || E'\n' || NEW."developer") COLLATE "und-x-icu");
    IF strpos(NEW."search_text", 'ς') > 0 THEN
        NEW."search_text" := NEW."search_text" || E'\n' || replace(NEW."search_text", 'ς', 'σ');
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER "games_search_text" BEFORE INSERT OR UPDATE OF "title", "developer" ON "games"
    FOR EACH ROW EXECUTE FUNCTION write_search_text();

UPDATE "games" SET "title" = "title" WHERE strpos("search_text", 'ς') > 0;
