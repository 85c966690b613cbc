-- Below: what Prisma's schema language cannot say.

-- Names are stored with composed letters from now on, and searched for so.
UPDATE "games" SET
    "title" = normalize("title", NFC),
    "developer" = normalize("developer", NFC),
    "tags" = ARRAY(SELECT normalize(tag, NFC) FROM unnest("tags") WITH ORDINALITY AS each(tag, position) ORDER BY position)
WHERE "title" IS NOT NFC NORMALIZED OR "developer" IS NOT NFC NORMALIZED OR array_to_string("tags", ' ') IS NOT NFC NORMALIZED;
