import { createHash } from "node:crypto";
import { createReadStream, readFileSync } from "node:fs";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { setTimeout as delay } from "node:timers/promises";
import { RegisterGameRequest } from "#contracts/http/partners.ts";
import { readIfThere, writePrivately } from "./credentials.ts";
import type { PartnerClient } from "./partner.ts";

/** Paths of a demo game's registration, archive and optional picture. */
export interface DemoGame {
  metadata: string;
  archive: string;
  picture: string | undefined;
}

/** Registers or restores the game, and uploads its archive and picture if they changed. Returns its title. */
export async function ensureGame(
  partner: PartnerClient,
  stateFolder: string,
  { metadata, archive, picture }: DemoGame,
  say: (line: string) => void,
): Promise<string> {
  const game = RegisterGameRequest.parse(JSON.parse(readFileSync(metadata, "utf8")));
  if (game.slug === undefined) throw new Error(`${metadata} has no slug.`);
  const found = await partner.restore(game.slug);
  if (found === undefined) await partner.register(game);
  const uploaded = join(stateFolder, `uploaded-${game.slug}`);
  const checksum = await sha256Of(archive);
  if (found?.status !== "active" || readIfThere(uploaded)?.trim() !== checksum) {
    say(`Uploading ${game.title} …`);
    const { checksum: stored } = await partner.upload(game.slug, archive);
    if (stored !== checksum)
      throw new Error(`The platform stored ${archive} with checksum ${stored} instead of ${checksum}.`);
    writePrivately(uploaded, `${checksum}\n`);
  }
  if (picture !== undefined)
    await ensurePicture(partner, stateFolder, game.slug, {
      picture,
      isThere: (found?.picture ?? null) !== null,
    });
  await awaitCopies(partner, game.slug, game.title, say);
  return game.title;
}

/** Uploads the picture unless the game already has it. */
async function ensurePicture(
  partner: PartnerClient,
  stateFolder: string,
  slug: string,
  { picture, isThere }: { picture: string; isThere: boolean },
): Promise<void> {
  const uploaded = join(stateFolder, `picture-${slug}`);
  const checksum = await sha256Of(picture);
  if (isThere && readIfThere(uploaded)?.trim() === checksum) return;
  await partner.uploadPicture(slug, picture);
  writePrivately(uploaded, `${checksum}\n`);
}

/**
 * Waits up to 2 min until every game node has the game. A slow node is not an error; only the first launch
 * there takes longer.
 */
async function awaitCopies(
  partner: PartnerClient,
  slug: string,
  title: string,
  say: (line: string) => void,
): Promise<void> {
  const deadline = Date.now() + 120_000;
  for (;;) {
    const { totalServers, pendingSync } = await partner.sync(slug);
    if (totalServers > 0 && pendingSync === 0) return;
    if (Date.now() > deadline) {
      say(
        `${title} is on ${totalServers - pendingSync} of ${totalServers} game nodes so far. The other nodes are still copying it.`,
      );
      return;
    }
    await delay(1000);
  }
}

async function sha256Of(file: string): Promise<string> {
  const hash = createHash("sha256");
  await pipeline(createReadStream(file, { highWaterMark: 1 << 20 }), hash);
  return `sha256:${hash.digest("hex")}`;
}
