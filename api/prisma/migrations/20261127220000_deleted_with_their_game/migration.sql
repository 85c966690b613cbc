-- Below: what Prisma's schema language cannot say.

-- What became current of a game while the game's deletion waited was left as if it still were, and the sweeper removes only what is not. The deleted games
-- are locked, by id as launches lock theirs, so that none of them is restored meanwhile.
SELECT FROM "games" WHERE "deleted_at" IS NOT NULL ORDER BY "id" FOR NO KEY UPDATE;

UPDATE "game_versions" v SET "superseded_at" = g."deleted_at" FROM "games" g
WHERE g."id" = v."game_id" AND g."deleted_at" IS NOT NULL AND v."superseded_at" IS NULL;

UPDATE "game_pictures" p SET "superseded_at" = g."deleted_at" FROM "games" g
WHERE g."id" = p."game_id" AND g."deleted_at" IS NOT NULL AND p."superseded_at" IS NULL;
