import type { Game, GameVersion } from "../generated/client.ts";
import type { Postgres } from "../stores/postgres.ts";

/** Links and habits outlive a game for a while: nobody else's game shall be found in its place. */
const slugKeptDays = 90;

/** A partner's game with its current archive, if there is one. */
export type PartnerGame = Game & { currentVersion: GameVersion | null };

/** The games of one partner; there is no way to reach another's through it. */
export class PartnerGames {
  readonly #prisma: Postgres["prisma"];
  readonly #partnerId: string;

  constructor({ prisma }: Postgres, partnerId: string) {
    this.#prisma = prisma;
    this.#partnerId = partnerId;
  }

  /** All that are not deleted, by slug. */
  async list(): Promise<Game[]> {
    return this.#prisma.game.findMany({ where: { partnerId: this.#partnerId, deletedAt: null }, orderBy: { slug: "asc" } });
  }

  async find(slug: string): Promise<PartnerGame | null> {
    return this.#prisma.game.findFirst({
      where: { partnerId: this.#partnerId, slug, deletedAt: null }, include: { currentVersion: true },
    });
  }

  /** Throws Prisma's unique violation when the slug is taken, by whomever and for a while even if deleted. */
  async create(game: GameMetadata & { slug: string }): Promise<Game> {
    return this.#prisma.$transaction(async (transaction) => {
      // The old row stays for what refers to it, under a name that no game can have; its cache must be gone, which bore the slug.
      await transaction.$executeRaw`
        UPDATE games SET slug = slug || '~' || id
        WHERE slug = ${game.slug} AND deleted_at < now() - make_interval(days => ${slugKeptDays}::int) AND cache_applied_revision = cache_revision`;
      return transaction.game.create({ data: { ...game, partnerId: this.#partnerId } });
    });
  }

  /** Changes what is given, if the game still is at this revision; null otherwise. */
  async update({ id, revision }: Pick<Game, "id" | "revision">, changes: Partial<GameMetadata>): Promise<PartnerGame | null> {
    const [game] = await this.#prisma.game.updateManyAndReturn({
      where: { id, revision, partnerId: this.#partnerId, deletedAt: null }, data: changes,
    });
    return game === undefined ? null : this.find(game.slug);
  }
}

/** What a partner says of a game. */
export interface GameMetadata {
  title: string;
  developer: string;
  launcher: string;
  engineDir: string;
  description?: string;
  tags?: string[];
  thumbnail?: string | null;
  screenshots?: string[];
  contentRating?: string | null;
  languages?: string[];
  website?: string | null;
  releaseDate?: Date | null;
  network?: Game["network"];
  saveLimitMb?: number | null;
}

/** Whether an error is a violation of a unique index, the last word on names that two want at once. */
export function isUniqueViolation(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "P2002";
}
