-- What Prisma's schema language cannot say: how many saves are unreadable is asked every minute, and nearly none are.
CREATE INDEX "save_versions_unreadable" ON "save_versions"("unreadable_at") WHERE "unreadable_at" IS NOT NULL;
