-- AlterTable
ALTER TABLE "game_sessions" ADD COLUMN "save_notice" TEXT;
