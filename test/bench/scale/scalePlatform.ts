import { publicStatusOf } from "#contracts/crd/sessionState.ts";
import { aGame } from "#test/factories/catalog.ts";
import { eventually } from "#test/support/clocks/eventually.ts";
import { sharedKubeApiServer } from "#test/support/cluster/kubeApiServer.ts";
import { OperatorFixture } from "#test/support/fixtures/operatorFixture.ts";
import { TestApi } from "#test/support/http/api.ts";
import { ApiProcess } from "#test/support/http/apiProcess.ts";
import { OperatorProcess } from "#test/support/processes/operatorProcess.ts";
import { inspectable } from "./collectedMemory.ts";
import { signedInPlayer } from "./players.ts";
import { apiProgram, operatorProgram } from "./programs.ts";

/** Concurrent players. */
const atOnce = 32;
const timeoutMs = 300_000;

interface Player {
  cookie: string;
}

/**
 * API and operator as in production, one process each, with a separate API server and stores. This process
 * simulates scheduler, kubelets and node agents, and observes the cluster through another API that does
 * nothing.
 */
export class ScalePlatform {
  readonly cluster: OperatorFixture;
  readonly #api: TestApi;
  readonly #gameSlug: string;
  readonly #releaseNamespace: string;
  readonly #kubeconfigPath: string;
  readonly #replicas: (OperatorProcess | ApiProcess)[] = [];
  #operators = 0;

  private constructor(parts: {
    cluster: OperatorFixture;
    api: TestApi;
    gameSlug: string;
    releaseNamespace: string;
    kubeconfigPath: string;
  }) {
    this.cluster = parts.cluster;
    this.#api = parts.api;
    this.#gameSlug = parts.gameSlug;
    this.#releaseNamespace = parts.releaseNamespace;
    this.#kubeconfigPath = parts.kubeconfigPath;
  }

  /** Starts the platform with room for `sessions` sessions. */
  static async start({ nodes, sessions }: { nodes: number; sessions: number }): Promise<ScalePlatform> {
    const server = await sharedKubeApiServer();
    const cluster = await OperatorFixture.start({
      nodes,
      components: { workers: atOnce },
      environment: { SOFTWARE_SLOTS: String(Math.ceil(sessions / nodes)) },
    });
    cluster.components.behaviour.isRecorderUnavailable = true; // The API's own is at work.
    const releaseNamespace = await server.createNamespace("release");
    const env = { SESSIONS_NAMESPACE: cluster.namespace, KUBECONFIG: server.kubeconfigPath };
    const api = await TestApi.start({ kube: true, isLed: true, env });
    const { slug } = await aGame(api.deps);
    return new ScalePlatform({
      cluster,
      api,
      gameSlug: slug,
      releaseNamespace,
      kubeconfigPath: server.kubeconfigPath,
    });
  }

  /** Starts the operator. With `inspectPort`, its memory can be collected, see collectedMemory.ts. */
  async startOperator(inspectPort?: number): Promise<OperatorProcess> {
    const env = {
      ...this.cluster.environment,
      ...(inspectPort !== undefined && inspectable(inspectPort)),
      KUBECONFIG: this.cluster.kubeconfigPath,
    };
    const operator = await OperatorProcess.start({
      env,
      identity: `operator-${this.#operators++}`,
      program: operatorProgram,
      readyTimeoutMs: timeoutMs,
    });
    this.#replicas.push(operator);
    return operator;
  }

  async startApi(inspectPort?: number): Promise<ApiProcess> {
    const env = {
      ...(inspectPort !== undefined && inspectable(inspectPort)),
      KUBECONFIG: this.#kubeconfigPath,
      SESSIONS_NAMESPACE: this.cluster.namespace,
      POD_NAMESPACE: this.#releaseNamespace,
      LOG_LEVEL: "warn",
    };
    const replica = await ApiProcess.beside(this.#api, env, apiProgram);
    this.#replicas.push(replica);
    return replica;
  }

  /** Launches `count` sessions, and resolves once all are running. */
  async launch(count: number, { url }: ApiProcess): Promise<void> {
    await this.#inTurns(count, async () => {
      await this.#launch(url, await this.#player());
    });
  }

  /** Runs `count` sessions from launch to end, and returns the milliseconds that it took. */
  async play(count: number, { url }: ApiProcess): Promise<number> {
    const players = await this.#players(count);
    const startedMs = performance.now();
    await this.#inTurns(count, async (index) => {
      const player = players[index] ?? (await this.#player());
      const sessionId = await this.#launch(url, player);
      await post(`${url}/api/game/stop`, player, { sessionId });
    });
    return performance.now() - startedMs;
  }

  /** Returns the size of the JSON text of all sessions and of all pods in the API server, in bytes. */
  async jsonBytes(): Promise<{ sessions: number; pods: number }> {
    const bytes = (list: { items: readonly object[] }): number =>
      list.items.reduce((sum, item) => sum + Buffer.byteLength(JSON.stringify(item)), 0);
    const { namespace } = this.cluster;
    return {
      sessions: bytes(await this.cluster.sessions.listAll({ namespace })),
      pods: bytes(await this.cluster.pods.listAll({ namespace })),
    };
  }

  async clear(): Promise<void> {
    await Promise.all(this.#replicas.map((replica) => replica.stop()));
    await this.#api.stop();
    await this.cluster.clear();
  }

  async #launch(url: string, player: Player): Promise<string> {
    const { sessionId } = (await post(`${url}/api/game/launch`, player, { gameSlug: this.#gameSlug })) as {
      sessionId: string;
    };
    // Observed in this process, because requests would disturb the measured programs.
    await eventually(
      () => {
        const session = this.#api.deps.cluster.gameSession(sessionId);
        return session !== undefined && publicStatusOf(session) === "running";
      },
      { timeoutMs, intervalMs: 20, what: `session ${sessionId} to run` },
    );
    return sessionId;
  }

  async #players(count: number): Promise<Player[]> {
    const players: Player[] = [];
    await this.#inTurns(count, async (index) => void (players[index] = await this.#player()));
    return players;
  }

  async #player(): Promise<Player> {
    return { cookie: await signedInPlayer(this.#api.deps) };
  }

  async #inTurns(count: number, work: (index: number) => Promise<void>): Promise<void> {
    let next = 0;
    await Promise.all(
      Array.from({ length: Math.min(atOnce, count) }, async () => {
        while (next < count) await work(next++);
      }),
    );
  }
}

async function post(url: string, { cookie }: Player, body: object): Promise<unknown> {
  const response = await fetch(url, {
    method: "POST",
    headers: { cookie, "content-type": "application/json" },
    body: JSON.stringify(body),
    signal: AbortSignal.timeout(timeoutMs),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`POST ${url} was answered with ${response.status}: ${text}`);
  return JSON.parse(text);
}
