// `make bench`: measures the running platform. Each figure is compared with a peer or a limit that is
// measured in the same run, alternating, because machines are noisy and absolute times mean little. Prints
// one line per figure. Exits with 1 if a target is missed that no decision accepts. `ONLY=launch` (or stops,
// streams, P5, P6, P7, P8, P9, P10, P11, spool, copy, A1 … A6, C3, O1 … O5, P4, R4, R5, R7; several separated
// by commas) selects figures; those that do not measure the running platform do not need one. With `launch`,
// the steps of launches are printed too. `ROUNDS` is the number of launches. R5 stops fifty sessions in
// outages and takes about 25 minutes, so it runs only with `LONG=1` or if ONLY names it.
import { readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { Page } from "playwright-core";
import { parse } from "yaml";
import { publishTestCard } from "#test/e2e/support/games.ts";
import { platform, type Platform } from "#test/e2e/support/platform.ts";
import { Players } from "#test/e2e/support/players.ts";
import { onStopSignal } from "#runtime/program/program.ts";
import { eventually } from "#test/support/clocks/eventually.ts";
import { pageScript } from "#test/support/browser/pageScripts.ts";
import { measureApi } from "./api.ts";
import { measureEarlyStops } from "./earlyStops.ts";
import { measureBarePod, type BarePodTimes } from "./barePod.ts";
import { sessionWrites } from "./kubeWrites.ts";
import { measureCatalogClient, measureCatalogPages } from "./catalogPages.ts";
import { measureNodeCopy } from "./nodeCopy.ts";
import { measureUpload } from "./uploadArchive.ts";
import { measureLoopbackFirstFrame, measureLoopbackPhoton, measureStreamPhoton } from "./photon.ts";
import { measureFrameCpu } from "./frameCpu.ts";
import { measureFrozenTime } from "./frozenTime.ts";
import { measureScale } from "./scale/scale.ts";
import { measureSharedMachine } from "./sharedMachine.ts";
import { measureSound } from "./sound.ts";
import { measureSpooling } from "./spooling.ts";
import { measureRelayedPhoton } from "./relayedPhoton.ts";
import { measureStopsInOutages } from "./stopsInOutages.ts";
import {
  atLeastRow,
  atMostRow,
  belowRow,
  countRow,
  isAsDecided,
  median,
  percentile,
  table,
  type BenchRow,
} from "./row.ts";
import { LaunchTimeline } from "./launchTimeline.ts";
import { beginLaunch, keepAlive, launch, stop, whenRunning } from "./session.ts";

if (process.argv.length > 2) {
  console.error(
    "The bench takes no arguments. ONLY=P9,A1 measures these rows alone; without it all are measured, which takes an hour.",
  );
  process.exit(2);
}
const rounds = Number(process.env["ROUNDS"] ?? 5);
const photonTrials = 30;
/**
 * First frames vary from 10 to 400 ms, so their median needs many launches. A third of the launches also
 * measure photons.
 */
const firstFrameRounds = 9;
/** The deletion of the object after its time to live, which is too late to wait for. */
const writesAfterTimeToLive = 1;
/** Accepted number of writes over the whole life of a session. */
const acceptedWrites = 13;

const only = process.env["ONLY"]?.split(",");
const isWanted = (part: string): boolean => only === undefined || only.includes(part);
const isLong = process.env["LONG"] === "1" || only?.includes("R5") === true;

// Exits on interrupts, because cleanup runs when the process exits.
onStopSignal(() => process.exit(130));
const rows: BenchRow[] = [];
try {
  await measureAll();
  process.exitCode = rows.every(isAsDecided) ? 0 : 1;
} catch (error) {
  console.error(`The bench could not go on: ${error instanceof Error ? error.message : String(error)}`);
  process.exitCode = 1;
} finally {
  console.log(table(rows)); // what was measured is told, though another part may fail
}

async function measureAll(): Promise<void> {
  rows.push(...(await measureApi(isWanted)));
  if (isWanted("C3")) rows.push(...(await measureUpload()));
  if (isWanted("A4")) rows.push(await measureCatalogClient());
  if (isWanted("A5")) rows.push(...(await measureCatalogPages()));
  rows.push(...(await measureScale(isWanted)));
  if (["launch", "stops", "P4", "streams", "P5", "P6"].some(isWanted)) await measurePlatform();
  if (isWanted("P7")) rows.push(...(await measureFrozenTime()));
  if (isWanted("P9")) rows.push(await measureFrameCpu());
  if (isWanted("P10")) rows.push(...(await measureSharedMachine()));
  if (isWanted("P11")) rows.push(...(await measureSound()));
  if (isLong && isWanted("R5")) rows.push(...(await measureStopsInOutages()));
  if (isWanted("P8"))
    rows.push(
      belowRow("P8 input to photon p50, added by TURN/TCP", (await measureRelayedPhoton()).addedMs, 10),
    );
  if (isWanted("spool")) rows.push(await measureSpooling());
  if (isWanted("copy")) {
    const { agentSeconds, peerSeconds } = await measureNodeCopy({ rounds: 3 });
    rows.push(atLeastRow("node copy of 0.5 GB, curl | tar xz", agentSeconds * 1000, peerSeconds * 1000, 2));
  }
}

/** Measures the figures that need the installed platform. */
async function measurePlatform(): Promise<void> {
  const installed = await platform();
  const { slug } = await publishTestCard();
  const players = new Players();
  try {
    const {
      game: { page },
    } = await players.signIn({ isTraced: false });
    if (isWanted("launch")) rows.push(...(await launches(page, installed, slug)));
    if (isWanted("stops"))
      rows.push(
        belowRow(
          "stop during a launch → 200 p99 of 100",
          percentile(await measureEarlyStops(installed, slug), 0.99),
          15_000,
        ),
      );
    if (isWanted("P4")) rows.push(...(await writes(page, installed, slug)));
    if (["streams", "P5", "P6"].some(isWanted)) rows.push(...(await streams(page, slug)));
  } finally {
    await players.discard();
  }
}

async function launches(page: Page, cluster: Platform, slug: string): Promise<BenchRow[]> {
  const image = await gameImage(cluster);
  const { items: nodes } = await cluster.gameNodes.list();
  const launchMs: number[] = [];
  const stopMs: number[] = [];
  const bare: BarePodTimes[] = [];
  const timeline = new LaunchTimeline(cluster);
  await timeline.start();
  for (let round = 0; round < rounds; round++) {
    const node = nodes[round % nodes.length];
    if (node === undefined) throw new Error("The cluster has no game node.");
    bare.push(await measureBarePod(cluster, image, node.metadata.name));
    const launched = await launch(page, slug);
    launchMs.push(launched.launchMs);
    await timeline.add(launched);
    const asked = performance.now();
    await stop(page, launched.sessionId);
    stopMs.push(performance.now() - asked);
  }
  await timeline.stop();
  console.log(timeline.text());
  return [
    atMostRow(
      "launch, 202 → running p50, bare pod",
      median(launchMs),
      median(bare.map((pod) => pod.startMs)),
      3,
    ),
    atMostRow(
      "stop → 200 p50, bare pod's deletion",
      median(stopMs),
      median(bare.map((pod) => pod.stopMs)),
      3,
    ),
  ];
}

/**
 * P4: writes of our programs to the API server about sessions and their pods, counted over whole sessions,
 * one at a time.
 */
async function writes(page: Page, cluster: Platform, slug: string): Promise<BenchRow[]> {
  const sessions = 3;
  const [upToReady, afterReady]: [number[], number[]] = [[], []];
  for (let session = 0; session < sessions; session++) {
    const before = await settledWrites(cluster);
    const { sessionId } = await launch(page, slug);
    const started = await settledWrites(cluster);
    await stop(page, sessionId);
    upToReady.push(started - before);
    afterReady.push((await settledWrites(cluster)) - started + writesAfterTimeToLive);
  }
  const { sessionId } = await launch(page, slug);
  const started = await settledWrites(cluster);
  const keepalives = 20;
  for (let count = 0; count < keepalives; count++) await keepAlive(page, sessionId);
  const perKeepalive = ((await settledWrites(cluster)) - started) / keepalives;
  await stop(page, sessionId);
  const whole = median(upToReady) + median(afterReady);
  return [
    countRow("P4 Kubernetes writes, accepted → ready", median(upToReady), 6),
    {
      ...countRow("P4 Kubernetes writes of a whole life", whole, 9),
      accepted: { bound: `≤ ${acceptedWrites}`, isKept: whole <= acceptedWrites, decision: 36 },
    },
    countRow("P4 Kubernetes writes per keepalive", perKeepalive, 0),
  ];
}

/** Returns the count once it is stable: the recorder still writes after the response to a stop. */
async function settledWrites(cluster: Platform): Promise<number> {
  let last = -1;
  return eventually(
    async () => {
      const count = await sessionWrites(cluster);
      const isSettled = count === last;
      last = count;
      return isSettled ? count : undefined;
    },
    { timeoutMs: 60_000, intervalMs: 3000, what: "the count of writes to stand still" },
  );
}

/**
 * Measures first frames. A first frame counts once the play page shows it, not covered by the launch
 * progress, and it contains the test card, not an empty display. It may be decoded before the session is
 * running, but is shown only after the page receives that event, possibly a few milliseconds before this
 * process does.
 */
async function streams(page: Page, slug: string): Promise<BenchRow[]> {
  const { origin } = new URL(page.url());
  await page.addInitScript(await pageScript("probe", "firstPicture"));
  const firstFrames: number[] = [];
  const loopbackFrames: number[] = [];
  const photons: number[] = [];
  const loopbackPhotons: number[] = [];
  for (let round = 0; round < firstFrameRounds; round++) {
    const hasPhotons = round % 3 === 0;
    // An empty page, because browsers present no frames of a video that is not visible.
    await page.goto(`${origin}/healthz`);
    loopbackFrames.push(...(await measureLoopbackFirstFrame(page, 3)));
    if (hasPhotons) loopbackPhotons.push(...(await measureLoopbackPhoton(page, photonTrials)));
    const sessionId = await beginLaunch(page, slug);
    const [runningAt] = await Promise.all([
      whenRunning(page, sessionId),
      page.goto(`${origin}/play/${sessionId}`),
    ]); // as a player does
    firstFrames.push(
      (await eventually(
        async () => (await page.evaluate<number | null>("joypodFirstPicture.testCardAt")) ?? undefined,
        { timeoutMs: 30_000, intervalMs: 500, what: "the first decoded frame" },
      )) - runningAt,
    );
    if (hasPhotons) photons.push(...(await measureStreamPhoton(page, photonTrials)));
    await page.goto(origin);
    await stop(page, sessionId);
  }
  return [
    atMostRow(
      "P5 running → first frame p50, in-page loopback",
      median(firstFrames),
      median(loopbackFrames),
      1.3,
    ),
    atMostRow(
      "P6 input to photon p50 at 60 fps, in-page loopback",
      median(photons),
      median(loopbackPhotons),
      0.9,
    ),
    atMostRow(
      "P6 input to photon p95 at 60 fps, in-page loopback",
      percentile(photons, 0.95),
      percentile(loopbackPhotons, 0.95),
      1.2,
    ),
  ];
}

async function gameImage({ kubeconfig }: Platform): Promise<string> {
  const { images } = parse(await readFile(join(dirname(kubeconfig), "images.yaml"), "utf8")) as {
    images: { game: string };
  };
  return images.game;
}
