import { setTimeout as delay } from "node:timers/promises";
import { eventually } from "#test/support/clocks/eventually.ts";
import { buildGame, prepareSessionImages } from "#test/support/session/containers.ts";
import { startSessionPair, type SessionPair } from "#test/support/session/sessionPair.ts";
import { launchBrowser, openViewer, type Viewer } from "#test/support/session/viewer.ts";
import { prepareBackgroundFill } from "./backgroundFill.ts";
import { shareRow, type BenchRow } from "./row.ts";
import { watch } from "./watch.ts";

const sessions = 2;
const fps = 30;
const seconds = 20;

/**
 * P10: frames that browsers decode of two sessions at 30 frames/s, with sessions and browsers on this
 * machine. Then the same while a node agent on this machine fetches a game in the background.
 */
export async function measureSharedMachine(): Promise<BenchRow[]> {
  const images = await prepareSessionImages();
  const archive = await buildGame("testcard", images.game);
  const fill = await prepareBackgroundFill();
  const browser = await launchBrowser();
  const pairs: SessionPair[] = [];
  const viewers: Viewer[] = [];
  try {
    for (let session = 0; session < sessions; session++) {
      const pair = await startSessionPair({
        images,
        game: { archive, launcher: "testcard.sh" },
        streamerEnv: { FPS: String(fps) },
      });
      pairs.push(pair);
      const viewer = await openViewer(browser, pair);
      viewers.push(viewer);
      await watch(viewer);
    }
    await eventually(
      async () =>
        (await Promise.all(pairs.map(async (pair) => (await pair.status()).fps > fps / 2))).every(Boolean),
      { what: "two running streams" },
    );
    const alone = await measureFrames("P10 frames delivered of two sessions at 30 a second", viewers);
    fill.begin();
    await eventually(() => fill.isUnderWay(), { what: "the background fill" });
    const filling = await measureFrames("P10 the same while the node fetches a game", viewers);
    if (!fill.isUnderWay())
      throw new Error("The background fill ended before the measurement: it needs a larger game.");
    return [alone, filling];
  } finally {
    await fill.stop();
    for (const viewer of viewers) await viewer.close();
    for (const pair of pairs) await pair.remove();
    await browser.close();
  }
}

async function measureFrames(id: string, viewers: readonly Viewer[]): Promise<BenchRow> {
  const before = await framesDecoded(viewers);
  const startedAt = performance.now();
  await delay(seconds * 1_000);
  const delivered = (await framesDecoded(viewers)) - before;
  const asked = Math.round((sessions * fps * (performance.now() - startedAt)) / 1_000);
  return shareRow(id, Math.min(delivered, asked), asked, 0.95);
}

async function framesDecoded(viewers: readonly Viewer[]): Promise<number> {
  const counts = await Promise.all(
    viewers.map(async (viewer) => (await viewer.stats()).video?.framesDecoded ?? 0),
  );
  return counts.reduce((sum, count) => sum + count, 0);
}
