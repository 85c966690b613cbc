import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { labels } from "#contracts/crd/names.ts";
import { atMostRow, median, type BenchRow } from "../row.ts";
import type { ScalePlatform } from "./scalePlatform.ts";

const run = promisify(execFile);
const rounds = 5;

/**
 * O5: the operator's start, until it has read the cluster and may act, compared with a program that reads and
 * parses the same lists, alternating.
 */
export async function measureOperatorStart(platform: ScalePlatform, sessions: number): Promise<BenchRow> {
  const [oursMs, listMs]: [number[], number[]] = [[], []];
  for (let round = 0; round < rounds; round++) {
    oursMs.push(
      await timed(async () => {
        const operator = await platform.startOperator();
        return () => operator.stop();
      }),
    );
    listMs.push(await timed(() => list(platform)));
  }
  return atMostRow(
    `O5 operator's start beside ${sessions} sessions, list + JSON.parse`,
    median(oursMs),
    median(listMs),
    1.5,
  );
}

/** Returns the milliseconds of the work. The function that it returns is called afterwards, unmeasured. */
async function timed(work: () => Promise<() => Promise<void>>): Promise<number> {
  const startedMs = performance.now();
  const after = await work();
  const ms = performance.now() - startedMs;
  await after();
  return ms;
}

async function list({ cluster: { kubeconfigPath, namespace } }: ScalePlatform): Promise<() => Promise<void>> {
  const joypod = "/apis/joypod.dev/v1alpha1";
  const latest = "resourceVersion=0";
  await run(
    process.execPath,
    [
      join(import.meta.dirname, "listProgram.ts"),
      kubeconfigPath,
      `${joypod}/namespaces/${namespace}/gamesessions?${latest}`,
      `${joypod}/namespaces/${namespace}/gamecaches?${latest}`,
      `${joypod}/gamenodes?${latest}`,
      `/api/v1/nodes?${latest}`,
      `/api/v1/namespaces/${namespace}/pods?${latest}&labelSelector=${encodeURIComponent(labels.gameSession)}`,
    ],
    { maxBuffer: 2 ** 20 },
  );
  return () => Promise.resolve();
}
