import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { sharedKubeApiServer } from "#test/support/cluster/kubeApiServer.ts";
import { startKwok } from "#test/support/cluster/kwok.ts";
import { OperatorFixture } from "#test/support/fixtures/operatorFixture.ts";
import { OperatorProcess } from "#test/support/processes/operatorProcess.ts";
import { median, type BenchRow } from "../row.ts";
import { costText, requestsPerLife, withCosts } from "./lifeCosts.ts";
import { Lives } from "./lives.ts";
import { PlainWriter } from "./plainWriter.ts";
import { operatorProgram } from "./programs.ts";

const nodes = 100;
const atOnce = 64;
const rounds = 3;
/**
 * 1,000 lives of our operator over all rounds. The naive operator gets fewer, because it would take minutes.
 */
const livesPerRound = 334;
const naiveLivesPerRound = 100;
const livesASecond = 100;
const shareOfLimit = 0.5;
const timesNaive = 5;

/**
 * O1: session lives per second on a hundred nodes, whose kubelets are simulated by kwok, compared with the
 * rate of the same writes that the API server sustains, and with a naive operator, alternating.
 */
export async function measureThroughput(): Promise<BenchRow[]> {
  const server = await sharedKubeApiServer();
  // Otherwise pods of a node would be counted as other pods, including those that are only written.
  const environment = { SOFTWARE_SLOTS: "20", COUNT_OTHER_PODS: "off" };
  const fixture = await OperatorFixture.start({
    nodes,
    environment,
    components: { workers: atOnce, hasKubelets: true },
  });
  const kwok = await startKwok({
    kubeconfigPath: server.kubeconfigPath,
    nodeSelector: `fixture=${fixture.namespace}`,
  });
  const lives = await Lives.watch(fixture);
  const programs = {
    "API server": server.programs.apiServer.pid,
    etcd: server.programs.etcd.pid,
    kwok: kwok.pid,
    "players, scheduler and agents": process.pid,
  };
  try {
    const [ours, limits, naive]: [number[], number[], number[]] = [[], [], []];
    for (let round = 0; round < rounds; round++) {
      const own = await withOperator(fixture, ({ pid }) =>
        withCosts(server, { ...programs, operator: pid }, livesPerRound, () =>
          lives.rate(livesPerRound, atOnce),
        ),
      );
      const eventsPerLife = Math.round(requestsPerLife(own.costs, (request) => / events$/.test(request)));
      const writer = new PlainWriter({
        transport: server.transport(),
        namespace: await server.createNamespace("plain"),
        environment: fixture.environment,
        eventsPerLife,
      });
      const plain = await withCosts(server, programs, livesPerRound, () =>
        writer.rate(livesPerRound, atOnce),
      );
      naive.push(await withNaiveOperator(fixture, () => lives.rate(naiveLivesPerRound, atOnce)));
      ours.push(own.result);
      limits.push(plain.result);
      console.log(
        `O1: ${own.result.toFixed(1)} lives a second, ${plain.result.toFixed(1)} of plain writes with ${eventsPerLife} events each, ${naive.at(-1)?.toFixed(1)} of the naive operator`,
      );
      console.log(`O1, ours: ${costText(own.costs)}\nO1, plain writes: ${costText(plain.costs)}`);
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
      id: "O1 lives on 100 nodes, same writes only",
      ours: rate(ours),
      peer: "-",
      limit: rate(limit),
      ratio: (ours / limit).toFixed(2),
      target: `≥ ${livesASecond}/s or ≥ ${shareOfLimit}`,
      isPassed: ours >= livesASecond || ours >= limit * shareOfLimit,
    },
    {
      id: "O1 lives on 100 nodes, naive client-node operator",
      ours: rate(ours),
      peer: rate(naive),
      limit: "-",
      ratio: (ours / naive).toFixed(2),
      target: `≥ ${timesNaive}`,
      isPassed: ours >= naive * timesNaive,
      accepted: { bound: "≥ 1", isKept: ours >= naive, decision: 36 },
    },
  ];
}

async function withOperator<T>(
  fixture: OperatorFixture,
  work: (operator: OperatorProcess) => Promise<T>,
): Promise<T> {
  const env = { ...fixture.environment, KUBECONFIG: fixture.kubeconfigPath };
  const operator = await OperatorProcess.start({ env, identity: "operator", program: operatorProgram });
  try {
    await fixture.reportNodes();
    return await work(operator);
  } finally {
    await operator.stop("SIGTERM");
  }
}

async function withNaiveOperator(fixture: OperatorFixture, work: () => Promise<number>): Promise<number> {
  const env = {
    ...process.env,
    ...fixture.environment,
    KUBECONFIG: fixture.kubeconfigPath,
    NODE_NAMES: fixture.nodeNames.join(","),
  };
  const child = spawn(
    "setpriv",
    ["--pdeathsig=KILL", "--", process.execPath, join(import.meta.dirname, "naiveOperator.ts")],
    { env, stdio: ["ignore", "pipe", "inherit"] },
  );
  try {
    await once(child.stdout, "data");
    return await work();
  } finally {
    child.kill("SIGKILL");
  }
}
