import { setTimeout as delay } from "node:timers/promises";
import { openBottleneck } from "#test/support/session/bottleneck.ts";
import { buildGame, prepareSessionImages } from "#test/support/session/containers.ts";
import { startSessionPair } from "#test/support/session/sessionPair.ts";
import { launchBrowser, openViewer, type Viewer } from "#test/support/session/viewer.ts";
import { belowRow, belowShareRow, percentile, type BenchRow } from "./row.ts";
import { watch } from "./watch.ts";

const lossShare = 0.02;
/** Time in which the jitter buffer and the clocks of sound and picture settle. */
const settleMs = 8_000;
const measuredMs = 20_000;
const lookMs = 250;

/** Sound statistics of an interval. */
interface Interval {
  /** Average delay in the jitter buffer of the samples that were played. */
  bufferMs: number;
  concealed: number;
  played: number;
  /**
   * How far the sound is behind the picture at the end of the interval; undefined until the browser reports
   * it.
   */
  behindPictureMs: number | undefined;
}

/**
 * P11: sound delay in the browser and the offset between sound and picture on a path without loss, and the
 * share of concealed sound if every 50th packet is lost.
 */
export async function measureSound(): Promise<BenchRow[]> {
  const images = await prepareSessionImages();
  const archive = await buildGame("testcard", images.game);
  const browser = await launchBrowser();
  const pair = await startSessionPair({ images, game: { archive, launcher: "testcard.sh" } });
  const path = await openBottleneck(pair.udpPort);
  const viewer = await openViewer(browser, pair, { mediaPort: path.port });
  try {
    await watch(viewer);
    await delay(settleMs);
    const clean = await listen(viewer);
    path.lose(lossShare);
    const lossy = await listen(viewer);
    const apart = clean.flatMap(({ behindPictureMs }) =>
      behindPictureMs === undefined ? [] : [Math.abs(behindPictureMs)],
    );
    const [concealed, played] = [
      lossy.reduce((sum, { concealed: samples }) => sum + samples, 0),
      lossy.reduce((sum, { played: samples }) => sum + samples, 0),
    ];
    return [
      belowRow(
        "P11 sound held back by the browser, p95",
        percentile(
          clean.map(({ bufferMs }) => bufferMs),
          0.95,
        ),
        60,
      ),
      belowRow("P11 offset of sound and picture, p95", percentile(apart, 0.95), 40),
      belowShareRow("P11 sound concealed at 2 % loss", concealed, played, 0.005),
    ];
  } finally {
    await viewer.close();
    path.close();
    await pair.remove();
    await browser.close();
  }
}

async function listen(viewer: Viewer): Promise<Interval[]> {
  const intervals: Interval[] = [];
  let before = await counted(viewer);
  for (const endsAt = performance.now() + measuredMs; performance.now() < endsAt;) {
    await delay(lookMs);
    const now = await counted(viewer);
    intervals.push({
      bufferMs:
        ((now.jitterBufferDelay - before.jitterBufferDelay) /
          (now.jitterBufferEmittedCount - before.jitterBufferEmittedCount)) *
        1_000,
      concealed: now.concealedSamples - before.concealedSamples,
      played: now.totalSamplesReceived - before.totalSamplesReceived,
      behindPictureMs: now.behindPictureMs,
    });
    before = now;
  }
  return intervals;
}

async function counted(viewer: Viewer) {
  const { audio, video } = await viewer.stats();
  if (audio === undefined) throw new Error("The stream has no sound.");
  const [heard, seen] = [audio.estimatedPlayoutTimestamp, video?.estimatedPlayoutTimestamp ?? null];
  return { ...audio, behindPictureMs: heard === null || seen === null ? undefined : seen - heard };
}
