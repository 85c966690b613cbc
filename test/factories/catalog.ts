import { randomBytes } from "node:crypto";
import type { Deps } from "#api/deps.ts";
import { newGameSessionId } from "#api/gameSessions/launching/decideLaunch.ts";
import type { Prisma } from "#api/generated/client.ts";
import { createPartnerKey } from "#api/partners/keyFormat.ts";
import { aGameSessionSpec } from "./gameSession.ts";

type Stores = Pick<Deps, "postgres" | "passwords">;

export interface TestUser {
  id: string;
  name: string;
  email: string;
  password: string;
}

/** Stores a user who can sign in with `password`. */
export async function aUser(
  { postgres, passwords }: Stores,
  overrides: Partial<Omit<TestUser, "id">> & { image?: string } = {},
): Promise<TestUser> {
  const {
    name = "Ada Player",
    email = `${unique()}@example.test`,
    password = `password ${unique()}`,
    image,
  } = overrides;
  const { id } = await postgres.prisma.user.create({
    data: {
      name,
      email,
      passwordHash: await passwords.hash(password),
      ...(image !== undefined && { image }),
    },
  });
  return { id, name, email, password };
}

export interface TestPartner {
  id: string;
  name: string;
  /** A valid API key. */
  key: string;
  keyId: string;
}

/** Stores a partner with one valid key. */
export async function aPartner(
  { postgres }: Pick<Deps, "postgres">,
  overrides: { name?: string } = {},
): Promise<TestPartner> {
  const { name = `Partner ${unique()}` } = overrides;
  const { key, keyId, secretHash } = createPartnerKey();
  const { id } = await postgres.prisma.partner.create({
    data: { name, keys: { create: { id: keyId, secretHash } } },
  });
  return { id, name, key, keyId };
}

export interface TestGame {
  id: string;
  slug: string;
  title: string;
  partnerId: string;
  /** Null for a game that is waiting for its upload. */
  versionId: string | null;
  sha256: string | null;
}

export interface GameOverrides {
  slug?: string;
  title?: string;
  developer?: string;
  description?: string;
  tags?: string[];
  thumbnail?: string;
  screenshots?: string[];
  contentRating?: string;
  languages?: string[];
  website?: string;
  releaseDate?: Date;
  launcher?: string;
  engineDir?: string;
  partnerId?: string;
  status?: "active" | "pending_upload";
  visibility?: "public" | "private";
  popularity?: number;
  createdAt?: Date;
  deletedAt?: Date;
}

/**
 * Stores a game, in the catalogue unless it is `pending_upload`. Its archive is only referenced, not stored.
 */
export async function aGame(
  { postgres }: Pick<Deps, "postgres">,
  overrides: GameOverrides = {},
): Promise<TestGame> {
  const { partnerId = (await aPartner({ postgres })).id, status = "active", ...fields } = overrides;
  const slug = fields.slug ?? `game-${unique()}`;
  const data = {
    title: `Game ${slug}`,
    developer: "Test Studio",
    launcher: "run.sh",
    engineDir: "engine",
    ...fields,
    slug,
    partnerId,
  };
  const { id, title } = await postgres.prisma.game.create({ data });
  if (status === "pending_upload") return { id, slug, title, partnerId, versionId: null, sha256: null };
  const sha256 = randomBytes(32).toString("hex");
  const version = await postgres.prisma.gameVersion.create({
    data: {
      gameId: id,
      objectKey: `archives/${id}/${unique()}.tar.gz`,
      sha256,
      sizeBytes: 1000n,
      unpackedSizeBytes: 5000n,
    },
  });
  await postgres.prisma.game.update({ where: { id }, data: { status, currentVersionId: version.id } });
  return { id, slug, title, partnerId, versionId: version.id, sha256 };
}

/** Stores a used save slot of a user. */
export async function aSaveSlot(
  { postgres }: Pick<Deps, "postgres">,
  {
    user,
    game,
    number = 1,
    label = `Slot ${number}`,
  }: { user: { id: string }; game: { id: string }; number?: number; label?: string },
): Promise<{ id: string; number: number; label: string; lastPlayedAt: Date }> {
  return postgres.prisma.saveSlot.create({
    data: { userId: user.id, gameId: game.id, number, label },
    select: { id: true, number: true, label: true, lastPlayedAt: true },
  });
}

/**
 * Stores a running session, by default in the player's first slot of the game, without a Kubernetes object.
 */
export async function aGameSessionRow(
  { postgres }: Pick<Deps, "postgres">,
  { user, game }: { user: { id: string }; game: Pick<TestGame, "id" | "versionId"> },
  overrides: Partial<Prisma.GameSessionUncheckedCreateInput> = {},
): Promise<{ id: string }> {
  const id = overrides.id ?? newGameSessionId("none");
  const slotId =
    overrides.slotId === undefined ? (await aSaveSlot({ postgres }, { user, game })).id : overrides.slotId;
  const isOver = overrides.status === "stopped" || overrides.status === "error";
  return postgres.prisma.gameSession.create({
    data: {
      crName: id,
      userId: user.id,
      gameId: game.id,
      versionId: game.versionId ?? "",
      idleTimeoutSeconds: 1800,
      spec: aGameSessionSpec(),
      status: "running",
      crCreatedAt: new Date(),
      readyAt: new Date(),
      expiresAt: new Date(Date.now() + 1_800_000),
      ...(isOver ? { recordedAt: new Date(), slotReleasedAt: new Date() } : {}),
      ...overrides,
      id,
      slotId,
    },
    select: { id: true },
  });
}

function unique(): string {
  return randomBytes(6).toString("hex");
}
