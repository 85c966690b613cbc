import { randomInt } from "node:crypto";
import { existsSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { sleepUntilAborted, systemClock } from "#runtime/scheduling/clock.ts";
import { eventually } from "#test/support/clocks/eventually.ts";
import { InvariantWatch } from "#test/support/invariants/invariantWatch.ts";
import { countRow, median, type BenchRow } from "../row.ts";
import { collectedRssBytes } from "./collectedMemory.ts";
import { descriptorsOf, rssBytesOf } from "./processFigures.ts";
import { signedInPlayer } from "./players.ts";
import { SoakPlatform, type Leftovers, type SoakProgram } from "./soakPlatform.ts";

const players = 8;
const faultEveryMs = 5_000;
/** Shorter than a leader's lease, because programs that must not be killed would exit otherwise. */
const frozenMs = 2_000;
const sampleEveryMs = 1_000;
/** Time for the idle timeouts, deadlines and times to live of the last sessions. */
const settlingMs = 180_000;
const memoryRatioMax = 1.05;
/** Allowed growth, because pooled connections vary. */
const moreDescriptorsMax = 5;

/** Samples of a program that is never killed, one per second. */
interface Samples {
  rssBytes: number[];
  /** After a garbage collection: at the start, after the first quarter and at the end. */
  collectedBytes: number[];
  descriptors: number[];
  /** How often it exited without being killed. */
  ends: number;
}

/**
 * R7: players who launch, play, stop or leave, with a fault every five seconds. Nothing of a session may
 * remain at the end.
 */
export async function measureSoak(minutes: number): Promise<BenchRow[]> {
  const platform = await SoakPlatform.start();
  const watch = new InvariantWatch(platform.invariants, sampleEveryMs);
  const over = new AbortController();
  const timer = setTimeout(() => over.abort(), minutes * 60_000);
  try {
    watch.start();
    const [lives, faults, samples] = await Promise.all([
      Promise.all(Array.from({ length: players }, () => playOn(platform, over.signal))),
      makeFaults(platform, over.signal),
      sample(
        platform.programs.filter(({ isSpared }) => isSpared),
        minutes,
        over.signal,
      ),
    ]);
    console.log(
      `R7: ${lives.reduce((sum, count) => sum + count, 0)} sessions ran in ${minutes} min; faults: ${[...faults].map(([name, count]) => `${count} × ${name}`).join(", ")}`,
    );
    return [...leftoverRows(await settled(platform)), await invariantRow(watch), ...growthRows(samples)];
  } finally {
    clearTimeout(timer);
    over.abort();
    await watch.stop().catch(() => undefined); // What it found is told above, where all went well.
    await platform.clear();
  }
}

/**
 * Plays sessions one after the other until stopped, and returns how many were running. Retries rejected
 * requests.
 */
async function playOn(
  { api: { deps }, apiUrls, gameSlug }: SoakPlatform,
  over: AbortSignal,
): Promise<number> {
  const cookie = await signedInPlayer(deps);
  const send = async (
    method: "GET" | "POST",
    path: string,
    body?: object,
  ): Promise<Record<string, unknown>> => {
    const response = await fetch(`${apiUrls[randomInt(apiUrls.length)]}${path}`, {
      method,
      headers: { cookie, "content-type": "application/json" },
      signal: AbortSignal.timeout(20_000),
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    if (!response.ok) throw new Error(`${path} was answered with ${response.status}.`);
    return (await response.json()) as Record<string, unknown>;
  };
  let lives = 0;
  while (!over.aborted) {
    const hasPlayed = await playOne(send, gameSlug, over).catch(() => false);
    if (hasPlayed) lives++;
    else await sleepUntilAborted(systemClock, 300, over);
  }
  return lives;
}

async function playOne(
  send: (method: "GET" | "POST", path: string, body?: object) => Promise<Record<string, unknown>>,
  gameSlug: string,
  over: AbortSignal,
): Promise<boolean> {
  const { sessionId } = await send("POST", "/api/game/launch", { gameSlug });
  for (;;) {
    if (!(await sleepUntilAborted(systemClock, 300, over))) return false;
    const { status } = await send("GET", `/api/game/session-status?sessionId=${String(sessionId)}`);
    if (status === "running") break;
    if (status !== "starting") return false;
  }
  for (let count = randomInt(3); count > 0; count--) await send("POST", "/api/game/keepalive", { sessionId });
  // The other players leave, so their sessions end by the idle timeout.
  if (randomInt(10) < 7) await send("POST", "/api/game/stop", { sessionId });
  return true;
}

/** Injects faults of all kinds in turn, and returns how many of each kind. */
async function makeFaults(
  { programs, relays }: SoakPlatform,
  over: AbortSignal,
): Promise<Map<string, number>> {
  const counts = new Map<string, number>();
  const faults: [string, () => Promise<void>][] = [
    ...programs
      .filter(({ isSpared }) => !isSpared)
      .map((program): [string, () => Promise<void>] => [
        `${program.name} killed`,
        async () => {
          await program.stop("SIGKILL");
          await program.start();
        },
      ]),
    ...programs.map((program): [string, () => Promise<void>] => [
      `${program.name} frozen`,
      async () => {
        program.signal("SIGSTOP");
        await delay(frozenMs);
        program.signal("SIGCONT");
      },
    ]),
    ...[...relays].map(([name, relay]): [string, () => Promise<void>] => [
      `${name} cut`,
      () => {
        relay.cut();
        return Promise.resolve();
      },
    ]),
  ];
  let next = 0;
  while (await sleepUntilAborted(systemClock, faultEveryMs, over)) {
    const [name, make] = faults[next++ % faults.length] ?? ["none", () => Promise.resolve()];
    await make();
    counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  return counts;
}

async function sample(
  programs: readonly SoakProgram[],
  minutes: number,
  over: AbortSignal,
): Promise<Map<string, Samples>> {
  const samples = new Map(
    programs.map(({ name }): [string, Samples] => [
      name,
      { rssBytes: [], collectedBytes: [], descriptors: [], ends: 0 },
    ]),
  );
  const collect = async (): Promise<void> => {
    for (const { name, pid, inspectPort } of programs)
      samples.get(name)?.collectedBytes.push(await collectedRssBytes(pid, inspectPort));
  };
  await collect(); // What inspects has descriptors of its own: it is there from the beginning.
  const collecting = sleepUntilAborted(systemClock, (minutes * 60_000) / 4, over).then(collect);
  while (await sleepUntilAborted(systemClock, sampleEveryMs, over)) {
    for (const program of programs) {
      const known = samples.get(program.name);
      if (known === undefined) continue;
      if (existsSync(`/proc/${program.pid}`)) {
        known.rssBytes.push(rssBytesOf(program.pid));
        known.descriptors.push(descriptorsOf(program.pid));
      } else {
        known.ends++;
        await program.start();
      }
    }
  }
  await collecting;
  await collect();
  return samples;
}

/** Returns what is left of sessions, once nothing changes any more or the time is up. */
async function settled(platform: SoakPlatform): Promise<Leftovers> {
  let left = await platform.leftovers();
  await eventually(
    async () => {
      left = await platform.leftovers();
      return Object.values(left).every((count) => count === 0);
    },
    { timeoutMs: settlingMs, intervalMs: 1000, what: "everything to be cleared up" },
  ).catch((error: unknown) => console.error(String(error)));
  return left;
}

function leftoverRows({ pods, sessions, rows, folders, slots }: Leftovers): BenchRow[] {
  return [
    countRow("R7 pods left over", pods, 0),
    countRow("R7 GameSessions left over", sessions, 0),
    countRow("R7 rows not recorded", rows, 0),
    countRow("R7 folders left over on nodes", folders, 0),
    countRow("R7 slots and ports not released", slots, 0),
  ];
}

async function invariantRow(watch: InvariantWatch): Promise<BenchRow> {
  const broken = await watch.stop().then(
    () => 0,
    (error: unknown) => {
      console.error(`R7: ${String(error)}`);
      return 1;
    },
  );
  return countRow("R7 runs with a violated invariant", broken, 0);
}

/**
 * Returns rows for the memory growth after a garbage collection. Memory before a collection depends on V8 and
 * on the machine's memory; it is printed, but has no limit.
 */
function growthRows(samples: ReadonlyMap<string, Samples>): BenchRow[] {
  return [...samples].flatMap(
    ([
      name,
      {
        rssBytes,
        collectedBytes: [, early = NaN, late = NaN],
        descriptors,
        ends,
      },
    ]): BenchRow[] => {
      const mebibytes = (bytes: number): string => `${Math.round(bytes / 2 ** 20)} MiB`;
      console.log(
        `R7: ${name} had ${mebibytes(median(firstQuarter(rssBytes)))} with garbage in the first quarter, ${mebibytes(median(lastQuarter(rssBytes)))} in the last.`,
      );
      const memory = late / early;
      return [
        {
          id: `R7 memory of ${name} after a collection, last quarter to first`,
          ours: mebibytes(late),
          peer: mebibytes(early),
          limit: "-",
          ratio: memory.toFixed(2),
          target: `≤ ${memoryRatioMax}`,
          isPassed: memory <= memoryRatioMax,
        },
        countRow(`R7 unexpected exits of ${name}`, ends, 0),
        countRow(
          `R7 descriptors of ${name}, more in the last quarter`,
          Math.max(0, median(lastQuarter(descriptors)) - median(firstQuarter(descriptors))),
          moreDescriptorsMax,
        ),
      ];
    },
  );
}

function firstQuarter(values: readonly number[]): number[] {
  return values.slice(0, Math.ceil(values.length / 4));
}

function lastQuarter(values: readonly number[]): number[] {
  return values.slice(-Math.ceil(values.length / 4));
}
