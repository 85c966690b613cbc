-- CreateTable
CREATE TABLE "idle_sweeps" (
    "id" INTEGER NOT NULL DEFAULT 1,
    "swept_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "idle_sweeps_pkey" PRIMARY KEY ("id")
);

-- Below: what Prisma's schema language cannot say.

INSERT INTO "idle_sweeps" ("id") VALUES (1);
