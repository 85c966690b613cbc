-- AlterTable
ALTER TABLE "auth_sessions" ADD COLUMN "device" TEXT,
ADD COLUMN "ip_prefix" TEXT;
