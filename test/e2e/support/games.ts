import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { RegisterGameRequest } from "#contracts/http/partners.ts";
import { eventually } from "#test/support/clocks/eventually.ts";
import { repositoryRoot } from "#test/support/processes/programs.ts";
import { PartnerClient } from "../../../tools/seed/partner.ts";
import { platform } from "./platform.ts";

const run = promisify(execFile);

/** Path of the archive of a game under games/, made when it is not there. */
export async function gameArchive(game: string): Promise<string> {
  const { stdout } = await run(join(repositoryRoot, "games/build.sh"), [game], { timeout: 20 * 60_000 });
  return stdout.trim();
}

/** Registration metadata of a game under games/. */
async function gameMetadata(game: string): Promise<Record<string, unknown>> {
  return JSON.parse(await readFile(join(repositoryRoot, "games", game, "game.json"), "utf8")) as Record<string, unknown>;
}

let published: Promise<{ slug: string; title: string }> | undefined;

/** Uploads the test card once in a run, under a name of its own; every node holds it then. */
export function publishTestCard(): Promise<{ slug: string; title: string }> {
  return published ??= publish();
}

async function publish(): Promise<{ slug: string; title: string }> {
  const id = randomBytes(3).toString("hex");
  const [slug, title] = [`testcard-${id}`, `Test Card ${id}`];
  await publishGame("testcard", { slug, title }, await gameArchive("testcard"));
  return { slug, title };
}

/** Registers a game under games/ for a partner of its own, with these fields in place of its own, uploads the archive, and waits until every node holds it. */
export async function publishGame(game: string, fields: Partial<RegisterGameRequest> & { slug: string }, archive: string): Promise<void> {
  const { slug } = fields;
  const partner = await newPartner(`Studio of ${slug}`);
  await partner.register(RegisterGameRequest.parse({ ...await gameMetadata(game), ...fields }));
  await partner.upload(slug, archive);
  await eventually(async () => {
    const { totalServers, pendingSync } = await partner.sync(slug);
    return totalServers > 0 && pendingSync === 0;
  }, { timeoutMs: 120_000, intervalMs: 500, what: `${slug} to be cached on every node` });
}

/** A partner of this run alone, over the partner interface. */
async function newPartner(name: string): Promise<PartnerClient> {
  const { baseUrl, cli } = await platform();
  await cli.createPartner(name);
  return new PartnerClient(baseUrl, await cli.createPartnerKey(name));
}
