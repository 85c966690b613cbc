-- AlterTable
ALTER TABLE "users" ADD COLUMN "stream_quality" JSONB;
