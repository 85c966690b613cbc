import { setTimeout as delay } from "node:timers/promises";
import type { Browser } from "playwright-core";
import { openBottleneck } from "#test/support/session/bottleneck.ts";
import { buildGame, prepareSessionImages, type SessionImages } from "#test/support/session/containers.ts";
import { startSessionPair } from "#test/support/session/sessionPair.ts";
import { launchBrowser, openViewer } from "#test/support/session/viewer.ts";
import { atLeastRow, belowRow, median, shareRow, type BenchRow } from "./row.ts";
import { watch } from "./watch.ts";

const rounds = Number(process.env["ROUNDS"] ?? 2);
const [wideKbps, narrowKbps] = [10_000, 1_500];
const pathMs = 20;
const lossShare = 0.02;
/** Time after which most of the bitrate must be back. */
const recoveryMs = 5_000;
/**
 * Without these, the streamer gets no reports and no retransmission requests, so it sends at the encoder's
 * fixed bitrate.
 */
const withoutRepair = ["transport-wide-cc", "transport-cc", "^a=rtcp-fb:\\d+ nack$"];

/** Measurements of one path. */
interface Seen {
  /** During the changes of the path, and including the loss after them. */
  frozenMs: { changes: number; all: number };
  /** Bitrate before the changes, and five seconds after the path was wide again. */
  kbps: { before: number; after: number };
}

/**
 * P7: how long the picture freezes, as counted by the browser, on a path of 10, then 1.5, then 10 Mbit/s and
 * then 2 % loss. Compared with the same streamer at a fixed bitrate and without retransmissions, alternating
 * and summed over the rounds. Also for the streamer alone: freezes during the changes of one path, and how
 * soon the bitrate recovers.
 */
export async function measureFrozenTime(): Promise<BenchRow[]> {
  const images = await prepareSessionImages();
  const archive = await buildGame("testcard", images.game);
  const browser = await launchBrowser();
  const [ours, peers]: [Seen[], Seen[]] = [[], []];
  try {
    for (let round = 0; round < rounds; round++) {
      ours.push(await seenOver(browser, images, archive, []));
      peers.push(await seenOver(browser, images, archive, withoutRepair));
    }
  } finally {
    await browser.close();
  }
  const inAll = (seen: readonly Seen[]): number => seen.reduce((sum, { frozenMs }) => sum + frozenMs.all, 0);
  return [
    atLeastRow(
      "P7 frozen over 10 → 1.5 → 10 Mbit/s and 2 % loss, fixed bitrate without NACK",
      inAll(ours),
      inAll(peers),
      5,
    ),
    belowRow(
      "P7 frozen over 10 → 1.5 → 10 Mbit/s, ms",
      median(ours.map(({ frozenMs }) => frozenMs.changes)),
      300,
    ),
    shareRow(
      "P7 kbit/s 5 s after the path is wide again, of before",
      median(ours.map(({ kbps }) => kbps.after)),
      median(ours.map(({ kbps }) => kbps.before)),
      0.8,
    ),
  ];
}

async function seenOver(
  browser: Browser,
  images: SessionImages,
  archive: string,
  without: readonly string[],
): Promise<Seen> {
  const pair = await startSessionPair({
    images,
    game: { archive, launcher: "testcard.sh" },
    gameEnv: { TESTCARD_NOISE: "300" },
    streamerEnv: { START_KBPS: "6000", MAX_KBPS: "6000" },
  });
  const path = await openBottleneck(pair.udpPort);
  path.limit(wideKbps, pathMs);
  const viewer = await openViewer(browser, pair, { mediaPort: path.port });
  try {
    await watch(viewer, { without });
    await delay(4_000); // The decoder and the rate settle, as they have in a session that is played.
    const frozenSeconds = async () => (await viewer.stats()).video?.totalFreezesDuration ?? 0;
    const sentKbps = async () => Math.round((await pair.status()).kbps);
    const [before, kbpsBefore] = [await frozenSeconds(), await sentKbps()];
    path.limit(narrowKbps, pathMs);
    await delay(8_000);
    path.limit(wideKbps, pathMs);
    await delay(recoveryMs);
    const kbps = { before: kbpsBefore, after: await sentKbps() };
    await delay(1_000);
    const changed = await frozenSeconds();
    path.lose(lossShare);
    await delay(8_000);
    path.lose(0);
    await delay(3_000); // A freeze counts when it has ended.
    return {
      frozenMs: { changes: (changed - before) * 1_000, all: ((await frozenSeconds()) - before) * 1_000 },
      kbps,
    };
  } finally {
    await viewer.close();
    path.close();
    await pair.remove();
  }
}
