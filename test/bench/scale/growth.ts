import { setTimeout as delay } from "node:timers/promises";
import { freePort } from "#test/support/processes/childProgram.ts";
import { atMostRow, type BenchRow } from "../row.ts";
import { measureOperatorStart } from "./operatorStart.ts";
import { collectedRssBytes } from "./collectedMemory.ts";
import { cpuMsOf, rssBytesOf } from "./processFigures.ts";
import { ScalePlatform } from "./scalePlatform.ts";

const nodes = 100;
/** The number of sessions; `SESSIONS` overrides it for trials. */
const most = Number(process.env["SESSIONS"] ?? 10_000);
const sizes = [most / 100, most / 10, most];
/** Session lives, next to the running sessions, over which processor time is measured. */
const lives = Math.min(300, most / 10);
/** A process that has read everything returns memory over the following seconds. */
const settlingMs = 20_000;
const idleMs = 30_000;

/** Figures of a program with a given number of sessions. */
interface Figures {
  sessions: number;
  /** After a garbage collection, so without uncollected garbage. */
  rssBytes: number;
  /** Per life, without the processor time of an idle program. */
  cpuMsPerLife: number;
  /** Per second while nothing happens. */
  idleCpuMs: number;
}

type Program = "operator" | "API";

/**
 * O2, and O5 if wanted, because both need the same ten thousand sessions: memory and processor time of an
 * operator and an API that start with 100, 1,000 and 10,000 sessions.
 */
export async function measureGrowth(isWanted: (part: string) => boolean): Promise<BenchRow[]> {
  const platform = await ScalePlatform.start({ nodes, sessions: most + lives });
  const rows: BenchRow[] = [];
  try {
    const figures = new Map<Program, Figures[]>([
      ["operator", []],
      ["API", []],
    ]);
    let running = 0;
    for (const sessions of isWanted("O2") ? sizes : [most]) {
      await fill(platform, sessions - running);
      running = sessions;
      if (isWanted("O2"))
        for (const [program, measured] of await figuresBeside(platform, sessions))
          figures.get(program)?.push(measured);
    }
    if (isWanted("O2")) {
      const json = await platform.jsonBytes();
      rows.push(
        ...growthRows("operator", figures, (json.sessions + json.pods) / most),
        ...growthRows("API", figures, json.sessions / most),
      );
    }
    if (isWanted("O5")) rows.push(await measureOperatorStart(platform, most));
    return rows;
  } finally {
    await platform.clear();
  }
}

async function fill(platform: ScalePlatform, count: number): Promise<void> {
  const [operator, api] = [await platform.startOperator(), await platform.startApi()];
  await platform.cluster.reportNodes();
  const startedMs = performance.now();
  await platform.launch(count, api);
  const seconds = (performance.now() - startedMs) / 1000;
  console.log(`${count} more sessions run, ${(count / seconds).toFixed(0)} a second.`);
  await Promise.all([operator.stop("SIGTERM"), api.stop("SIGTERM")]);
}

async function figuresBeside(platform: ScalePlatform, sessions: number): Promise<Map<Program, Figures>> {
  const ports = [await freePort(), await freePort()] as const;
  const [operator, api] = [await platform.startOperator(ports[0]), await platform.startApi(ports[1])];
  await delay(settlingMs);
  const programs = new Map<Program, { pid: number }>([
    ["operator", operator],
    ["API", api],
  ]);
  const withGarbage = new Map([...programs].map(([program, { pid }]) => [program, rssBytesOf(pid)]));
  const rss = new Map<Program, number>([
    ["operator", await collectedRssBytes(operator.pid, ports[0])],
    ["API", await collectedRssBytes(api.pid, ports[1])],
  ]);
  const cpu = (): Map<Program, number> =>
    new Map([...programs].map(([program, { pid }]) => [program, cpuMsOf(pid)]));
  const before = cpu();
  await delay(idleMs);
  const idle = cpu();
  const livesMs = await platform.play(lives, api);
  const after = cpu();
  await Promise.all([operator.stop("SIGTERM"), api.stop("SIGTERM")]);
  return new Map(
    [...programs.keys()].map((program): [Program, Figures] => {
      const used = (later: Map<Program, number>, earlier: Map<Program, number>): number =>
        (later.get(program) ?? 0) - (earlier.get(program) ?? 0);
      const idleCpuMs = used(idle, before) / (idleMs / 1000);
      const cpuMsPerLife = (used(after, idle) - (idleCpuMs * livesMs) / 1000) / lives;
      const measured = { sessions, rssBytes: rss.get(program) ?? 0, cpuMsPerLife, idleCpuMs };
      const mebibytes = (bytes: number): number => Math.round(bytes / 2 ** 20);
      console.log(
        `${program} beside ${sessions} sessions: ${mebibytes(measured.rssBytes)} MiB after a collection, ${mebibytes(withGarbage.get(program) ?? 0)} before, ${cpuMsPerLife.toFixed(1)} ms of processor per life, ${idleCpuMs.toFixed(1)} ms a second without one`,
      );
      return [program, measured];
    }),
  );
}

function growthRows(
  program: Program,
  figures: ReadonlyMap<Program, Figures[]>,
  jsonBytes: number,
): BenchRow[] {
  const measured = figures.get(program) ?? [];
  const [few, many] = [measured[0], measured.at(-1)];
  if (few === undefined || many === undefined) throw new Error(`Nothing was measured of the ${program}.`);
  const bytesPerSession = (many.rssBytes - few.rssBytes) / (many.sessions - few.sessions);
  return [
    bytesRow(
      `O2 ${program}'s memory per session after a collection, its JSON`,
      bytesPerSession,
      jsonBytes,
      2,
    ),
    atMostRow(
      `O2 ${program}'s processor time of a life beside ${many.sessions} sessions, beside ${few.sessions}`,
      many.cpuMsPerLife,
      few.cpuMsPerLife,
      1.2,
    ),
    atMostRow(
      `O2 ${program}'s idle processor time per session and second, ${many.sessions} to ${few.sessions}`,
      many.idleCpuMs / many.sessions,
      few.idleCpuMs / few.sessions,
      1.2,
    ),
  ];
}

function bytesRow(id: string, ours: number, peer: number, atMost: number): BenchRow {
  const kilobytes = (bytes: number): string => `${(bytes / 1024).toFixed(1)} KiB`;
  const ratio = ours / peer;
  return {
    id,
    ours: kilobytes(ours),
    peer: kilobytes(peer),
    limit: "-",
    ratio: ratio.toFixed(2),
    target: `≤ ${atMost}`,
    isPassed: ratio <= atMost,
  };
}
