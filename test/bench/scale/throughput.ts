import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { sharedKubeApiServer, type KubeApiServer } from "#test/support/cluster/kubeApiServer.ts";
import { startKwok } from "#test/support/cluster/kwok.ts";
import { OperatorFixture } from "#test/support/fixtures/operatorFixture.ts";
import { OperatorProcess } from "#test/support/processes/operatorProcess.ts";
import { median, type BenchRow } from "../row.ts";
import { Lives } from "./lives.ts";
import { PlainWriter } from "./plainWriter.ts";
import { operatorProgram } from "./programs.ts";

const nodes = 100;
const atOnce = 64;
const rounds = 3;
/** 1,000 lives of ours over all rounds; the naive operator has fewer, as it would take minutes. */
const livesPerRound = 334;
const naiveLivesPerRound = 100;
const livesASecond = 100;
const shareOfLimit = 0.5;
const timesNaive = 5;

/**
 * O1: whole lives of sessions in a second on a hundred nodes whose kubelets kwok plays, beside what the API server sustains of the same writes and
 * beside a naive operator, in turns.
 */
export async function measureThroughput(): Promise<BenchRow[]> {
  const server = await sharedKubeApiServer();
  // A pod of a node would else be counted as another's, also those that are only written.
  const environment = { SOFTWARE_SLOTS: "20", COUNT_OTHER_PODS: "off" };
  const fixture = await OperatorFixture.start({ nodes, environment, components: { workers: atOnce, hasKubelets: true } });
  const kwok = await startKwok({ kubeconfigPath: server.kubeconfigPath, nodeSelector: `fixture=${fixture.namespace}` });
  const lives = await Lives.watch(fixture);
  try {
    const [ours, limits, naive]: [number[], number[], number[]] = [[], [], []];
    for (let round = 0; round < rounds; round++) {
      const before = await eventWrites(server);
      ours.push(await withOperator(fixture, () => lives.rate(livesPerRound, atOnce)));
      const eventsPerLife = Math.round((await eventWrites(server) - before) / livesPerRound);
      const plain = new PlainWriter({ transport: server.transport(), namespace: await server.createNamespace("plain"), environment: fixture.environment, eventsPerLife });
      limits.push(await plain.rate(livesPerRound, atOnce));
      naive.push(await withNaiveOperator(fixture, () => lives.rate(naiveLivesPerRound, atOnce)));
      console.log(`O1: ${ours.at(-1)?.toFixed(1)} lives a second, ${limits.at(-1)?.toFixed(1)} of plain writes with ${eventsPerLife} events each, ${naive.at(-1)?.toFixed(1)} of the naive operator`);
    }
    return throughputRows(median(ours), median(limits), median(naive));
  } finally {
    await lives.stop();
    await fixture.clear();
    await kwok.stop();
  }
}

function throughputRows(ours: number, limit: number, naive: number): BenchRow[] {
  const rate = (value: number): string => `${value.toFixed(1)}/s`;
  return [
    {
      id: "O1 lives on 100 nodes, the same writes alone", ours: rate(ours), peer: "-", limit: rate(limit), ratio: (ours / limit).toFixed(2),
      target: `≥ ${livesASecond}/s or ≥ ${shareOfLimit}`, isPassed: ours >= livesASecond || ours >= limit * shareOfLimit,
    },
    {
      id: "O1 lives on 100 nodes, naive client-node operator", ours: rate(ours), peer: rate(naive), limit: "-", ratio: (ours / naive).toFixed(2),
      target: `≥ ${timesNaive}`, isPassed: ours >= naive * timesNaive,
    },
  ];
}

async function withOperator(fixture: OperatorFixture, work: () => Promise<number>): Promise<number> {
  const env = { ...fixture.environment, KUBECONFIG: fixture.kubeconfigPath };
  const operator = await OperatorProcess.start({ env, identity: "operator", program: operatorProgram });
  try {
    await fixture.reportNodes();
    return await work();
  } finally {
    await operator.stop("SIGTERM");
  }
}

async function withNaiveOperator(fixture: OperatorFixture, work: () => Promise<number>): Promise<number> {
  const env = { ...process.env, ...fixture.environment, KUBECONFIG: fixture.kubeconfigPath, NODE_NAMES: fixture.nodeNames.join(",") };
  const child = spawn("setpriv", ["--pdeathsig=KILL", "--", process.execPath, join(import.meta.dirname, "naiveOperator.ts")], { env, stdio: ["ignore", "pipe", "inherit"] });
  try {
    await once(child.stdout, "data");
    return await work();
  } finally {
    child.kill("SIGKILL");
  }
}

/** Events that the API server was sent, by its own count. */
async function eventWrites(server: KubeApiServer): Promise<number> {
  const text = await server.metrics();
  return text.split("\n").reduce((sum, line) => {
    const parts = /^apiserver_request_total\{(.*)\} (\d+)$/.exec(line);
    return parts !== null && /resource="events"/.test(parts[1] ?? "") && /verb="(POST|PATCH|APPLY)"/.test(parts[1] ?? "") ? sum + Number(parts[2]) : sum;
  }, 0);
}
