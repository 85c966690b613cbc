import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { RegisterGameRequest } from "#contracts/http/partners.ts";
import { eventually } from "#test/support/clocks/eventually.ts";
import { repositoryRoot } from "#test/support/processes/programs.ts";
import { PartnerClient } from "../../../tools/seed/partner.ts";
import { platform, type Platform } from "./platform.ts";

const run = promisify(execFile);

const archives = new Map<string, Promise<string>>();

/** Path of the archive of a game under games/, made when it is not there. */
export function gameArchive(game: string): Promise<string> {
  const archive = archives.get(game) ?? buildGame(game);
  archives.set(game, archive);
  return archive;
}

async function buildGame(game: string): Promise<string> {
  const { stdout } = await run(join(repositoryRoot, "games/build.sh"), [game], { timeout: 20 * 60_000 });
  return stdout.trim();
}

/** Registration metadata of a game under games/. */
async function gameMetadata(game: string): Promise<Record<string, unknown>> {
  return JSON.parse(await readFile(join(repositoryRoot, "games", game, "game.json"), "utf8")) as Record<
    string,
    unknown
  >;
}

let published: Promise<PublishedGame> | undefined;
let publishedSmall: Promise<PublishedGame> | undefined;

/** A game as players find it. */
export interface PublishedGame {
  slug: string;
  title: string;
}

/** Uploads the test card once in a run, under a name of its own; every node holds it then. */
export function publishTestCard(): Promise<PublishedGame> {
  return (published ??= publishCard({}));
}

/**
 * The test card on a display of a quarter of its size, which takes a quarter of the time to draw, to capture
 * and to encode: for many games at once.
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
 * Registers a game under games/ for the run's partner, with these fields in place of its own, uploads the
 * archive, and waits until every node holds it: on the platform under test, or on another one. Returns how
 * many nodes these are.
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

/** Where partners publish, and who admits them. */
type PartnersPlatform = Pick<Platform, "baseUrl" | "cli">;

const partners = new Map<string, Promise<PartnerClient>>();

/** The one partner that this run has on a platform, over the partner interface. */
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
