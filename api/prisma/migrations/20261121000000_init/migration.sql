CREATE EXTENSION IF NOT EXISTS pg_trgm;

-- CreateEnum
CREATE TYPE "game_status" AS ENUM ('pending_upload', 'active');

-- CreateEnum
CREATE TYPE "game_session_status" AS ENUM ('starting', 'running', 'stopping', 'stopped', 'error');

-- CreateTable
CREATE TABLE "users" (
    "id" TEXT NOT NULL DEFAULT (gen_random_uuid())::text,
    "email" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "image" TEXT,
    "password_hash" TEXT,
    "email_verified_at" TIMESTAMPTZ(3),
    "disabled_at" TIMESTAMPTZ(3),
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "users_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "auth_sessions" (
    "id" TEXT NOT NULL,
    "user_id" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "last_seen_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "revoked_at" TIMESTAMPTZ(3),

    CONSTRAINT "auth_sessions_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "partners" (
    "id" TEXT NOT NULL DEFAULT (gen_random_uuid())::text,
    "name" TEXT NOT NULL,
    "suspended_at" TIMESTAMPTZ(3),
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "partners_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "partner_keys" (
    "id" TEXT NOT NULL,
    "partner_id" TEXT NOT NULL,
    "secret_hash" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "expires_at" TIMESTAMPTZ(3),
    "revoked_at" TIMESTAMPTZ(3),
    "last_used_at" TIMESTAMPTZ(3),

    CONSTRAINT "partner_keys_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "games" (
    "id" TEXT NOT NULL DEFAULT (gen_random_uuid())::text,
    "partner_id" TEXT NOT NULL,
    "slug" TEXT NOT NULL,
    "title" TEXT NOT NULL,
    "developer" TEXT NOT NULL,
    "description" TEXT NOT NULL DEFAULT '',
    "tags" TEXT[] DEFAULT ARRAY[]::TEXT[],
    "launcher" TEXT NOT NULL,
    "engine_dir" TEXT NOT NULL,
    "thumbnail" TEXT,
    "screenshots" TEXT[] DEFAULT ARRAY[]::TEXT[],
    "content_rating" TEXT,
    "languages" TEXT[] DEFAULT ARRAY[]::TEXT[],
    "website" TEXT,
    "release_date" DATE,
    "status" "game_status" NOT NULL DEFAULT 'pending_upload',
    "current_version_id" TEXT,
    "popularity" INTEGER NOT NULL DEFAULT 0,
    "profile_sessions" INTEGER NOT NULL DEFAULT 0,
    "profile_cpu_millicores" DOUBLE PRECISION,
    "profile_peak_memory_mb" DOUBLE PRECISION,
    "profile_duration_seconds" DOUBLE PRECISION,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "deleted_at" TIMESTAMPTZ(3),

    CONSTRAINT "games_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "game_versions" (
    "id" TEXT NOT NULL DEFAULT (gen_random_uuid())::text,
    "game_id" TEXT NOT NULL,
    "object_key" TEXT NOT NULL,
    "sha256" TEXT NOT NULL,
    "size_bytes" BIGINT NOT NULL,
    "unpacked_size_bytes" BIGINT NOT NULL,
    "root_files" TEXT[] DEFAULT ARRAY[]::TEXT[],
    "root_directories" TEXT[] DEFAULT ARRAY[]::TEXT[],
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "game_versions_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "favorites" (
    "user_id" TEXT NOT NULL,
    "game_id" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "favorites_pkey" PRIMARY KEY ("user_id","game_id")
);

-- CreateTable
CREATE TABLE "save_slots" (
    "id" TEXT NOT NULL DEFAULT (gen_random_uuid())::text,
    "user_id" TEXT NOT NULL,
    "game_id" TEXT NOT NULL,
    "number" SMALLINT NOT NULL,
    "label" TEXT NOT NULL,
    "last_played_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "object_key" TEXT,
    "sha256" TEXT,
    "bytes" BIGINT,
    "generation" INTEGER NOT NULL DEFAULT 0,
    "saved_by_session" TEXT,
    "sequence" INTEGER NOT NULL DEFAULT 0,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "save_slots_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "game_sessions" (
    "id" TEXT NOT NULL,
    "user_id" TEXT NOT NULL,
    "game_id" TEXT NOT NULL,
    "version_id" TEXT NOT NULL,
    "slot_id" TEXT,
    "status" "game_session_status" NOT NULL DEFAULT 'starting',
    "stop_reason" TEXT,
    "failure_reason" TEXT,
    "failure_message" TEXT,
    "node" TEXT,
    "spec" JSONB NOT NULL,
    "cr_name" TEXT NOT NULL,
    "cr_created_at" TIMESTAMPTZ(3),
    "idle_timeout_seconds" INTEGER NOT NULL,
    "started_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "ready_at" TIMESTAMPTZ(3),
    "expires_at" TIMESTAMPTZ(3),
    "stopping_at" TIMESTAMPTZ(3),
    "ended_at" TIMESTAMPTZ(3),
    "duration_seconds" DOUBLE PRECISION,
    "cpu_seconds" DOUBLE PRECISION,
    "peak_memory_mb" DOUBLE PRECISION,
    "recorded_at" TIMESTAMPTZ(3),

    CONSTRAINT "game_sessions_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "game_launch_days" (
    "game_id" TEXT NOT NULL,
    "day" DATE NOT NULL,
    "launches" INTEGER NOT NULL DEFAULT 0,

    CONSTRAINT "game_launch_days_pkey" PRIMARY KEY ("game_id","day")
);

-- CreateTable
CREATE TABLE "audit_events" (
    "id" BIGSERIAL NOT NULL,
    "at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "action" TEXT NOT NULL,
    "actor_kind" TEXT NOT NULL,
    "actor_id" TEXT,
    "subject_kind" TEXT,
    "subject_id" TEXT,
    "ip_prefix" TEXT,
    "request_id" TEXT,
    "details" JSONB NOT NULL DEFAULT '{}',

    CONSTRAINT "audit_events_pkey" PRIMARY KEY ("id")
);

-- CreateIndex
CREATE UNIQUE INDEX "users_email_key" ON "users"("email");

-- CreateIndex
CREATE INDEX "auth_sessions_user_id_idx" ON "auth_sessions"("user_id");

-- CreateIndex
CREATE INDEX "auth_sessions_last_seen_at_idx" ON "auth_sessions"("last_seen_at");

-- CreateIndex
CREATE UNIQUE INDEX "partners_name_key" ON "partners"("name");

-- CreateIndex
CREATE INDEX "partner_keys_partner_id_idx" ON "partner_keys"("partner_id");

-- CreateIndex
CREATE UNIQUE INDEX "games_slug_key" ON "games"("slug");

-- CreateIndex
CREATE UNIQUE INDEX "games_current_version_id_key" ON "games"("current_version_id");

-- CreateIndex
CREATE INDEX "games_partner_id_idx" ON "games"("partner_id");

-- CreateIndex
CREATE UNIQUE INDEX "game_versions_object_key_key" ON "game_versions"("object_key");

-- CreateIndex
CREATE INDEX "game_versions_game_id_created_at_idx" ON "game_versions"("game_id", "created_at");

-- CreateIndex
CREATE INDEX "favorites_game_id_idx" ON "favorites"("game_id");

-- CreateIndex
CREATE INDEX "save_slots_game_id_idx" ON "save_slots"("game_id");

-- CreateIndex
CREATE UNIQUE INDEX "save_slots_user_id_game_id_number_key" ON "save_slots"("user_id", "game_id", "number");

-- CreateIndex
CREATE UNIQUE INDEX "game_sessions_cr_name_key" ON "game_sessions"("cr_name");

-- CreateIndex
CREATE INDEX "game_sessions_user_id_started_at_idx" ON "game_sessions"("user_id", "started_at");

-- CreateIndex
CREATE INDEX "game_sessions_game_id_idx" ON "game_sessions"("game_id");

-- CreateIndex
CREATE INDEX "game_sessions_version_id_idx" ON "game_sessions"("version_id");

-- CreateIndex
CREATE INDEX "game_sessions_slot_id_idx" ON "game_sessions"("slot_id");

-- CreateIndex
CREATE INDEX "game_launch_days_day_idx" ON "game_launch_days"("day");

-- CreateIndex
CREATE INDEX "audit_events_at_idx" ON "audit_events"("at");

-- CreateIndex
CREATE INDEX "audit_events_actor_kind_actor_id_at_idx" ON "audit_events"("actor_kind", "actor_id", "at");

-- AddForeignKey
ALTER TABLE "auth_sessions" ADD CONSTRAINT "auth_sessions_user_id_fkey" FOREIGN KEY ("user_id") REFERENCES "users"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "partner_keys" ADD CONSTRAINT "partner_keys_partner_id_fkey" FOREIGN KEY ("partner_id") REFERENCES "partners"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "games" ADD CONSTRAINT "games_partner_id_fkey" FOREIGN KEY ("partner_id") REFERENCES "partners"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "games" ADD CONSTRAINT "games_current_version_id_fkey" FOREIGN KEY ("current_version_id") REFERENCES "game_versions"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "game_versions" ADD CONSTRAINT "game_versions_game_id_fkey" FOREIGN KEY ("game_id") REFERENCES "games"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "favorites" ADD CONSTRAINT "favorites_user_id_fkey" FOREIGN KEY ("user_id") REFERENCES "users"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "favorites" ADD CONSTRAINT "favorites_game_id_fkey" FOREIGN KEY ("game_id") REFERENCES "games"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "save_slots" ADD CONSTRAINT "save_slots_user_id_fkey" FOREIGN KEY ("user_id") REFERENCES "users"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "save_slots" ADD CONSTRAINT "save_slots_game_id_fkey" FOREIGN KEY ("game_id") REFERENCES "games"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "game_sessions" ADD CONSTRAINT "game_sessions_user_id_fkey" FOREIGN KEY ("user_id") REFERENCES "users"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "game_sessions" ADD CONSTRAINT "game_sessions_game_id_fkey" FOREIGN KEY ("game_id") REFERENCES "games"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "game_sessions" ADD CONSTRAINT "game_sessions_version_id_fkey" FOREIGN KEY ("version_id") REFERENCES "game_versions"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "game_sessions" ADD CONSTRAINT "game_sessions_slot_id_fkey" FOREIGN KEY ("slot_id") REFERENCES "save_slots"("id") ON DELETE SET NULL ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "game_launch_days" ADD CONSTRAINT "game_launch_days_game_id_fkey" FOREIGN KEY ("game_id") REFERENCES "games"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- Below: what Prisma's schema language cannot say.

-- Lower case by the rules of Unicode, whatever the locale of the database.
CREATE FUNCTION lower_all("values" TEXT[]) RETURNS TEXT[] LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN ARRAY(SELECT lower(value COLLATE "und-x-icu") FROM unnest("values") WITH ORDINALITY AS each(value, position) ORDER BY position);

-- What the catalogue searches, filters and sorts by. A line feed parts title and developer: no search term can hold one.
ALTER TABLE "games"
    ADD COLUMN "title_key" TEXT COLLATE "und-x-icu" GENERATED ALWAYS AS (lower("title" COLLATE "und-x-icu")) STORED,
    ADD COLUMN "search_text" TEXT GENERATED ALWAYS AS (lower(("title" || E'\n' || "developer") COLLATE "und-x-icu")) STORED,
    ADD COLUMN "tag_keys" TEXT[] GENERATED ALWAYS AS (lower_all("tags")) STORED;

CREATE INDEX "games_catalog_title" ON "games"("title_key", "id") WHERE "status" = 'active' AND "deleted_at" IS NULL;
CREATE INDEX "games_catalog_created" ON "games"("created_at", "title_key", "id") WHERE "status" = 'active' AND "deleted_at" IS NULL;
CREATE INDEX "games_catalog_created_desc" ON "games"("created_at" DESC, "title_key", "id") WHERE "status" = 'active' AND "deleted_at" IS NULL;
CREATE INDEX "games_catalog_popular" ON "games"("popularity", "title_key", "id") WHERE "status" = 'active' AND "deleted_at" IS NULL;
CREATE INDEX "games_catalog_popular_desc" ON "games"("popularity" DESC, "title_key", "id") WHERE "status" = 'active' AND "deleted_at" IS NULL;
CREATE INDEX "games_catalog_search" ON "games" USING gin ("search_text" gin_trgm_ops) WHERE "status" = 'active' AND "deleted_at" IS NULL;
CREATE INDEX "games_catalog_tags" ON "games" USING gin ("tag_keys") WHERE "status" = 'active' AND "deleted_at" IS NULL;

-- One active session per user, whoever races.
CREATE UNIQUE INDEX "game_sessions_one_active" ON "game_sessions"("user_id") WHERE "status" IN ('starting', 'running', 'stopping');
CREATE INDEX "game_sessions_active" ON "game_sessions"("status", "expires_at") WHERE "status" IN ('starting', 'running', 'stopping');
CREATE INDEX "game_sessions_without_cr" ON "game_sessions"("started_at") WHERE "cr_created_at" IS NULL;
CREATE INDEX "game_sessions_unrecorded" ON "game_sessions"("started_at") WHERE "recorded_at" IS NULL;

ALTER TABLE "games"
    ADD CONSTRAINT "games_active_has_version" CHECK ("status" <> 'active' OR "current_version_id" IS NOT NULL);
ALTER TABLE "save_slots"
    ADD CONSTRAINT "save_slots_number" CHECK ("number" BETWEEN 1 AND 3),
    ADD CONSTRAINT "save_slots_save" CHECK (num_nulls("object_key", "sha256", "bytes") IN (0, 3)),
    ADD CONSTRAINT "save_slots_forward" CHECK ("generation" >= 0 AND "sequence" >= 0);

-- The audit trail only grows.
CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'audit events are append-only';
END $$;
CREATE TRIGGER "audit_events_append_only" BEFORE UPDATE OR DELETE ON "audit_events" FOR EACH ROW EXECUTE FUNCTION refuse_change();
