import { randomInt } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { publishJournal } from "#test/e2e/support/journalGame.ts";
import { platform, releaseNamespace, sessionsNamespace, type Platform } from "#test/e2e/support/platform.ts";
import { readStoredSave } from "#test/e2e/support/storedSave.ts";
import { eventually } from "#test/support/clocks/eventually.ts";
import { PlayerHttp } from "#test/support/http/playerHttp.ts";
import { belowRow, countRow, percentile, type BenchRow } from "./row.ts";

const outages = 25;
/** Concurrent players; the small cluster of `make up` has room for these. */
const players = 2;
const outageSecondsMax = 60;
const freeMsMax = 60_000;
/** The interval of the play page. A shorter one would reach the rate limit. */
const statusIntervalMs = 1000;
/** Time for the object store to start and a node agent to retry storing. */
const recoveryTimeoutMs = 300_000;

/**
 * Stops sessions while the object store is unavailable for up to a minute and the operator or a node agent is
 * killed. Each session adds a line to its save, so a missing line in the last save means that a save was
 * lost.
 */
export async function measureStopsInOutages(): Promise<BenchRow[]> {
  const installed = await platform();
  const slug = await publishJournal();
  const signedIn = await Promise.all(
    Array.from({ length: players }, async () =>
      PlayerHttp.signIn(installed.baseUrl, await installed.createPlayer()),
    ),
  );
  const freeMs: number[] = [];
  try {
    for (let outage = 0; outage < outages; outage++)
      freeMs.push(...(await stopInOutage(installed, signedIn, slug)));
    const kept = await Promise.all(signedIn.map((player) => countLines(installed, player, slug)));
    const lost = outages * players - kept.reduce((sum, lines) => sum + lines, 0);
    return [
      countRow(
        `R5 saves lost of ${outages * players} stops, store unavailable for 0–${outageSecondsMax} s, operator or agent killed`,
        lost,
        0,
      ),
      belowRow("R5 stop → player free p99, same stops", percentile(freeMs, 0.99), freeMsMax),
    ];
  } finally {
    await scaleStore(installed, 1);
  }
}

/** Runs one outage in which all players stop, and returns how long each player was blocked. */
async function stopInOutage(
  installed: Platform,
  signedIn: readonly PlayerHttp[],
  slug: string,
): Promise<number[]> {
  const sessions = await Promise.all(
    signedIn.map(async (player) => ({ player, id: await launchWhenPossible(player, slug) })),
  );
  await Promise.all(sessions.map(({ player, id }) => player.whenRunning(id)));
  const awayMs = randomInt(outageSecondsMax * 1000);
  await scaleStore(installed, 0);
  const storeIsBack = delay(awayMs).then(() => scaleStore(installed, 1));
  const isKilled = delay(randomInt(awayMs + 1)).then(() =>
    installed.killPods(randomInt(2) === 0 ? "operator" : "node-agent"),
  );
  const [freeMs] = await Promise.all([
    Promise.all(sessions.map(({ player, id }) => stopAndWait(player, id))),
    storeIsBack,
    isKilled,
  ]);
  return freeMs;
}

/**
 * Launches once possible: the slot must have its last save, and the cluster must have ended earlier sessions.
 */
function launchWhenPossible(player: PlayerHttp, slug: string): Promise<string> {
  return eventually(() => player.launch(slug), {
    timeoutMs: recoveryTimeoutMs,
    intervalMs: 3000,
    what: "the slot to be free",
  });
}

/**
 * Returns the milliseconds from the stop request until the API reports the end of the session. Retries failed
 * stop requests.
 */
async function stopAndWait(player: PlayerHttp, id: string): Promise<number> {
  const asked = performance.now();
  const isAsked = eventually(() => player.stop(id).then(() => true), {
    timeoutMs: recoveryTimeoutMs,
    intervalMs: 500,
    what: "the stop to be taken",
  });
  await eventually(async () => ["stopped", "error"].includes((await player.status(id)).status), {
    timeoutMs: recoveryTimeoutMs,
    intervalMs: statusIntervalMs,
    what: "the player to be free",
  });
  const freeMs = performance.now() - asked;
  await isAsked;
  return freeMs;
}

/** Returns the number of lines in the save that the player's next session would start from. */
async function countLines(installed: Platform, player: PlayerHttp, slug: string): Promise<number> {
  const id = await launchWhenPossible(player, slug);
  const {
    spec: { saveSlot },
  } = await installed.gameSessions.get({ namespace: sessionsNamespace, name: id });
  await player.whenRunning(id);
  await player.stop(id);
  if (saveSlot.objectKey === undefined) return 0;
  const journal = await readStoredSave(saveSlot.objectKey, "journal");
  return journal?.trimEnd().split("\n").length ?? 0;
}

/** Scales the object store, and resolves when it is gone or serves again. */
async function scaleStore(installed: Platform, replicas: 0 | 1): Promise<void> {
  const store = ["-n", releaseNamespace];
  await installed.kubectl([...store, "scale", "statefulset/joypod-minio", `--replicas=${replicas}`]);
  if (replicas === 1)
    await installed.kubectl([...store, "rollout", "status", "statefulset/joypod-minio", "--timeout=120s"]);
  else await installed.kubectl([...store, "wait", "--for=delete", "pod/joypod-minio-0", "--timeout=60s"]);
}
