import { randomInt } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { leases } from "#kube/api/builtin.ts";
import { ResourceClient } from "#kube/client/resourceClient.ts";
import { aGame, aUser } from "#test/factories/catalog.ts";
import { eventually } from "#test/support/clocks/eventually.ts";
import { operatorOf } from "#test/support/cluster/fakeOperator.ts";
import { sharedKubeApiServer } from "#test/support/cluster/kubeApiServer.ts";
import { OperatorFixture } from "#test/support/fixtures/operatorFixture.ts";
import { TestApi } from "#test/support/http/api.ts";
import { ApiProcess } from "#test/support/http/apiProcess.ts";
import { OperatorProcess } from "#test/support/processes/operatorProcess.ts";
import { belowRow, type BenchRow } from "../row.ts";
import { apiProgram, operatorProgram } from "./programs.ts";

const trials = 5;
const killedMsMax = 7_000;
const drainedMsMax = 1_500;
/** Renewal interval of a leader; it may end at any time between two renewals. */
const renewalMs = 900;
const wait = { timeoutMs: 30_000, intervalMs: 10 };

type End = "SIGKILL" | "SIGTERM";

/** A replica of a program with leader election. */
interface Replica {
  identity: string;
  stop(signal: NodeJS.Signals): Promise<void>;
}

/** O3: time from the end of the leader, killed or stopped, until the standby has acted on something new. */
export async function measureLeaders(): Promise<BenchRow[]> {
  return [...rowsOf("operator", await operatorTakeovers()), ...rowsOf("API", await apiTakeovers())];
}

function rowsOf(program: string, takeovers: ReadonlyMap<End, number[]>): BenchRow[] {
  const slowest = (end: End): number => Math.max(...(takeovers.get(end) ?? []));
  return [
    belowRow(
      `O3 ${program}'s leader killed → next acts, slowest of ${trials}`,
      slowest("SIGKILL"),
      killedMsMax,
    ),
    belowRow(
      `O3 ${program}'s leader drained → next acts, slowest of ${trials}`,
      slowest("SIGTERM"),
      drainedMsMax,
    ),
  ];
}

/**
 * Measures the operator's takeovers: it acts when it places a session that was created after the leader began
 * to end.
 */
async function operatorTakeovers(): Promise<Map<End, number[]>> {
  const fixture = await OperatorFixture.start({ environment: { SOFTWARE_SLOTS: "1000" } });
  const env = { ...fixture.environment, KUBECONFIG: fixture.kubeconfigPath };
  try {
    return await takeovers({
      lease: { namespace: fixture.namespace, name: "joypod-operator" },
      start: (number) =>
        OperatorProcess.start({ env, identity: `operator-${number}`, program: operatorProgram }),
      begin: () => fixture.reportNodes(),
      act: async () => {
        const {
          metadata: { name, namespace },
        } = await fixture.launch();
        return async () => (await fixture.sessions.get({ name, namespace })).status?.nodeName !== undefined;
      },
    });
  } finally {
    await fixture.clear();
  }
}

/** Measures the API's takeovers: its leader acts when it records that a session is running. */
async function apiTakeovers(): Promise<Map<End, number[]>> {
  const api = await TestApi.start({ kube: true, isLed: true });
  const operator = operatorOf(api);
  const { server } = api.kube ?? { server: await sharedKubeApiServer() };
  const namespace = await server.createNamespace("release");
  const env = { KUBECONFIG: server.kubeconfigPath, POD_NAMESPACE: namespace, SHUTDOWN_DELAY_SECONDS: "5" };
  try {
    await operator.addNode(1000);
    const game = await aGame(api.deps);
    await eventually(() => api.deps.cluster.gameNodes.cache.size > 0);
    const launch = async (): Promise<string> => {
      const response = await api.as(await aUser(api.deps)).post("/api/game/launch", { gameSlug: game.slug });
      return response.json<{ sessionId: string }>().sessionId;
    };
    let launched = await launch();
    return await takeovers({
      lease: { namespace, name: "joypod-api" },
      start: async (number) => {
        const replica = await ApiProcess.beside(api, { ...env, POD_NAME: `api-${number}` }, apiProgram);
        return { identity: `api-${number}`, stop: (signal) => replica.stop(signal) };
      },
      begin: async () => void (launched = await launch()),
      act: async () => {
        const id = launched;
        await operator.makeReady(id);
        return async () =>
          (await api.deps.postgres.prisma.gameSession.findUniqueOrThrow({ where: { id } })).status ===
          "running";
      },
    });
  } finally {
    await operator.removeNodes();
    await api.stop();
  }
}

interface Takeover {
  lease: { namespace: string; name: string };
  start(number: number): Promise<Replica>;
  /** Runs before each trial, while the old leader works. */
  begin(): Promise<void>;
  /** Creates work for the next leader. Returns a function that checks whether it is done. */
  act(): Promise<() => Promise<boolean>>;
}

/** Returns the milliseconds of each takeover by the kind of end, with both kinds alternating. */
async function takeovers(takeover: Takeover): Promise<Map<End, number[]>> {
  const client = new ResourceClient((await sharedKubeApiServer()).admin, leases);
  const { lease } = takeover;
  const leads =
    ({ identity }: Replica) =>
    async (): Promise<boolean> =>
      (await client.find(lease))?.spec?.holderIdentity === identity;
  const measured = new Map<End, number[]>([
    ["SIGKILL", []],
    ["SIGTERM", []],
  ]);
  const replicas: Replica[] = [];
  const startNext = async (): Promise<Replica> => {
    const replica = await takeover.start(replicas.length);
    replicas.push(replica);
    return replica;
  };
  try {
    let leader = await startNext();
    await eventually(leads(leader), { ...wait, what: "the first replica to lead" });
    for (let trial = 0; trial < trials; trial++) {
      for (const [end, times] of measured) {
        const next = await startNext();
        await takeover.begin();
        await delay(randomInt(renewalMs));
        const endedMs = performance.now();
        const ended = leader.stop(end);
        const hasActed = await takeover.act();
        await eventually(leads(next), { ...wait, what: `${next.identity} to lead` });
        await eventually(hasActed, { ...wait, what: `${next.identity} to act` });
        times.push(performance.now() - endedMs);
        console.log(
          `O3: ${next.identity} acted ${Math.round(times.at(-1) ?? 0)} ms after the ${end} of ${leader.identity}`,
        );
        await ended;
        leader = next;
      }
    }
    return measured;
  } finally {
    await Promise.all(replicas.map((replica) => replica.stop("SIGKILL")));
  }
}
