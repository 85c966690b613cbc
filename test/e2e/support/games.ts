import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import type { GameRun } from "#contracts/http/gameRuns.ts";
import { RegisterGameRequest } from "#contracts/http/partners.ts";
import { eventually } from "#test/support/clocks/eventually.ts";
import { repositoryRoot } from "#test/support/processes/programs.ts";
import { PartnerClient } from "../../../tools/seed/partner.ts";
import { platform, type Platform } from "./platform.ts";

const run = promisify(execFile);

const archives = new Map<string, Promise<string>>();

/** Returns the archive of a game under games/, and builds it if it is missing. */
export function gameArchive(game: string): Promise<string> {
  const archive = archives.get(game) ?? buildGame(game);
  archives.set(game, archive);
  return archive;
}

async function buildGame(game: string): Promise<string> {
  const { stdout } = await run(join(repositoryRoot, "games/build.sh"), [game], { timeout: 20 * 60_000 });
  return stdout.trim();
}

/** Returns the registration metadata of a game under games/. */
async function gameMetadata(game: string): Promise<Record<string, unknown>> {
  return JSON.parse(await readFile(join(repositoryRoot, "games", game, "game.json"), "utf8")) as Record<
    string,
    unknown
  >;
}

let published: Promise<PublishedGame> | undefined;
let publishedSmall: Promise<PublishedGame> | undefined;

/** A published game. */
export interface PublishedGame {
  slug: string;
  title: string;
}

/** Uploads the test card once per run under a unique name. Resolves once every node has it. */
export function publishTestCard(): Promise<PublishedGame> {
  return (published ??= publishCard({}));
}

/**
 * Publishes the test card with a quarter of the pixels, so that drawing, capturing and encoding take a
 * quarter of the time. For tests with many games.
 */
export function publishSmallTestCard(): Promise<PublishedGame> {
  return (publishedSmall ??= publishCard({ resources: { resolution: { width: 640, height: 360 } } }));
}

async function publishCard(fields: Pick<Partial<RegisterGameRequest>, "resources">): Promise<PublishedGame> {
  const id = randomBytes(3).toString("hex");
  const [slug, title] = [`testcard-${id}`, `Test Card ${id}`];
  await publishGame("testcard", { slug, title, ...fields }, await gameArchive("testcard"));
  return { slug, title };
}

/**
 * Registers a game under games/ with the run's partner and the given fields, uploads its archive, and waits
 * until every node has it. `on` selects another platform. Returns the number of nodes.
 */
export async function publishGame(
  game: string,
  fields: Partial<RegisterGameRequest> & { slug: string },
  archive: string,
  on?: PartnersPlatform,
): Promise<number> {
  const { slug } = fields;
  const partner = await partnerOf(on ?? (await platform()));
  await partner.register(RegisterGameRequest.parse({ ...(await gameMetadata(game)), ...fields }));
  await partner.upload(slug, archive);
  return eventually(
    async () => {
      const { totalServers, pendingSync } = await partner.sync(slug);
      return pendingSync === 0 && totalServers;
    },
    { timeoutMs: 120_000, intervalMs: 500, what: `${slug} to be cached on every node` },
  );
}

/** Returns a session of a published game as its partner sees it, once it has ended. */
export async function endedRun(slug: string, sessionId: string): Promise<GameRun> {
  const partner = await partnerOf(await platform());
  return eventually(
    async () => {
      const seen = await partner.run(slug, sessionId);
      return seen.endedAt === null ? undefined : seen;
    },
    { timeoutMs: 60_000, intervalMs: 500, what: `the run ${sessionId} to have ended` },
  );
}

/** The parts of a platform that publishing needs. */
type PartnersPlatform = Pick<Platform, "baseUrl" | "cli">;

const partners = new Map<string, Promise<PartnerClient>>();

/** Returns the run's partner on a platform. */
function partnerOf(on: PartnersPlatform): Promise<PartnerClient> {
  const partner = partners.get(on.baseUrl) ?? newPartner(on);
  partners.set(on.baseUrl, partner);
  return partner;
}

async function newPartner({ baseUrl, cli }: PartnersPlatform): Promise<PartnerClient> {
  const name = `Studio ${randomBytes(3).toString("hex")}`;
  await cli.createPartner(name);
  return new PartnerClient(baseUrl, await cli.createPartnerKey(name));
}
