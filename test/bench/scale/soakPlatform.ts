import { readdirSync, rmSync, writeFileSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { limits } from "#contracts/limits.ts";
import { nodePaths } from "#node-agent/disk/nodePaths.ts";
import { aGame } from "#test/factories/catalog.ts";
import { aGameTar, aTarGz } from "#test/factories/tarArchive.ts";
import { eventually } from "#test/support/clocks/eventually.ts";
import { sharedKubeApiServer } from "#test/support/cluster/kubeApiServer.ts";
import { OperatorFixture } from "#test/support/fixtures/operatorFixture.ts";
import { TestApi } from "#test/support/http/api.ts";
import { ApiProcess } from "#test/support/http/apiProcess.ts";
import { ChildProgram, freePort } from "#test/support/processes/childProgram.ts";
import { directStores } from "#test/support/invariants/directStores.ts";
import { Invariants } from "#test/support/invariants/invariants.ts";
import { imageEnvironment } from "#test/support/processes/imageEnvironment.ts";
import { OperatorProcess } from "#test/support/processes/operatorProcess.ts";
import { repositoryRoot } from "#test/support/processes/programs.ts";
import { temporaryFolder } from "#test/support/processes/temporaryFolder.ts";
import { storeArchive } from "#test/support/stores/storedArchive.ts";
import { TcpRelay } from "#test/support/stores/tcpRelay.ts";
import { inspectable } from "./collectedMemory.ts";
import { agentProgram, apiProgram, operatorProgram } from "./programs.ts";

/**
 * Replicas of each program. The first one is never killed, so that its memory and descriptors can be
 * followed.
 */
const replicas = 2;
const slotsPerNode = 8;

/**
 * The chart's default times in seconds, divided by up to sixty. The time after which an agent counts as
 * silent is the default: agents send heartbeats every ten seconds, and no fault stops them for longer than a
 * start or the two seconds of a freeze.
 */
const operatorTimes = {
  HEARTBEAT_STALE_SECONDS: String(limits.node.heartbeatStaleSeconds),
  PORT_QUARANTINE_SECONDS: "1",
  UNSCHEDULABLE_SECONDS: "1",
  SAVE_GIVE_UP_SECONDS: "2",
  SESSION_GRACE_SECONDS: "15",
};
const apiTimes = {
  IDLE_TIMEOUT_SECONDS: "30",
  START_DEADLINE_SECONDS: "15",
  DOWNLOAD_DEADLINE_SECONDS: "15",
  TTL_SECONDS_AFTER_FINISHED: "5",
  SHUTDOWN_DELAY_SECONDS: "0",
  REDIS_TIMEOUT_MS: "200",
};
const unlimited = { LAUNCHES_PER_MINUTE: "100000", LAUNCHES_PER_HOUR: "100000", POLLS_PER_MINUTE: "1000000" };

/** A program into which faults are injected. */
export interface SoakProgram {
  readonly name: string;
  readonly isSpared: boolean;
  readonly pid: number;
  /** Inspector port to collect its memory, see collectedMemory.ts. */
  readonly inspectPort: number;
  stop(signal?: NodeJS.Signals): Promise<void>;
  start(): Promise<void>;
  signal(signal: NodeJS.Signals): void;
}

/** What is left once all sessions are over. */
export interface Leftovers {
  pods: number;
  sessions: number;
  rows: number;
  folders: number;
  slots: number;
}

/**
 * Operators, APIs and node agents in separate processes. All their connections go through relays that can be
 * cut.
 */
export class SoakPlatform {
  readonly programs: SoakProgram[] = [];
  /** By the service behind the relay. */
  readonly relays = new Map<string, TcpRelay>();
  readonly apiUrls: string[] = [];
  readonly api: TestApi;
  readonly gameSlug: string;
  readonly #cluster: OperatorFixture;
  readonly #directory = temporaryFolder("soak");
  readonly #roots: string[] = [];

  private constructor(cluster: OperatorFixture, api: TestApi, gameSlug: string) {
    this.#cluster = cluster;
    this.api = api;
    this.gameSlug = gameSlug;
  }

  static async start(): Promise<SoakPlatform> {
    const server = await sharedKubeApiServer();
    const cluster = await OperatorFixture.start({
      nodes: replicas,
      environment: { SOFTWARE_SLOTS: String(slotsPerNode), ...operatorTimes },
      components: { workers: 8, hasAgents: true },
    });
    cluster.components.behaviour.isRecorderUnavailable = true; // The API's own is at work.
    const api = await TestApi.start({
      kube: true,
      isLed: true,
      minio: true,
      hasFaults: true,
      env: { SESSIONS_NAMESPACE: cluster.namespace, KUBECONFIG: server.kubeconfigPath },
    });
    const platform = new SoakPlatform(cluster, api, await aStoredGame(api));
    try {
      await platform.#startPrograms(
        await server.createNamespace("release"),
        server.url,
        server.kubeconfigPath,
      );
    } catch (error) {
      await platform.clear();
      throw error;
    }
    return platform;
  }

  /** Invariants that must always hold here, checked behind the relays. */
  get invariants(): Invariants {
    const {
      api: {
        deps: {
          postgres: { pool },
        },
        minio,
      },
    } = this;
    const { sessions, pods, namespace } = this.#cluster;
    return new Invariants(directStores({ pool, sessions, pods, namespace, minio }));
  }

  /** Returns what currently exists of sessions: nothing, once all are over. */
  async leftovers(): Promise<Leftovers> {
    const { namespace, nodeNames } = this.#cluster;
    const [sessions, pods, rows, nodes] = await Promise.all([
      this.#cluster.sessions.listAll({ namespace }),
      this.#cluster.pods.listAll({ namespace }),
      this.api.deps.postgres.prisma.gameSession.count({
        where: { OR: [{ recordedAt: null }, { slotReleasedAt: null }, { endedAt: null }] },
      }),
      Promise.all(nodeNames.map((name) => this.#cluster.gameNodes.get({ name }))),
    ]);
    const folders = this.#roots
      .flatMap((root) => [nodePaths(root).sessions, nodePaths(root).trash])
      .flatMap((folder) => readdirSync(folder));
    return {
      pods: pods.items.length,
      sessions: sessions.items.length,
      rows,
      folders: folders.length,
      slots: nodes.reduce((sum, { status }) => sum + (status?.capacity?.used ?? 0), 0),
    };
  }

  async clear(): Promise<void> {
    await Promise.all(this.programs.map((program) => program.stop()));
    await this.api.stop();
    await this.#cluster.clear();
    await Promise.all([...this.relays.values()].map((relay) => relay.stop()));
    rmSync(this.#directory, { recursive: true, force: true });
  }

  async #startPrograms(releaseNamespace: string, kubeUrl: string, adminKubeconfig: string): Promise<void> {
    const { postgres, redis, objectStore } = this.api.deps.config;
    const through = async (name: string, url: string): Promise<string> => {
      const relay = await TcpRelay.start(url);
      this.relays.set(name, relay);
      return url.replace(new URL(url).host, relay.host);
    };
    const stores = {
      DATABASE_URL: await through("Postgres", postgres.url),
      REDIS_URL: await through("Redis", redis.url),
      S3_ENDPOINT: await through("MinIO", objectStore.endpoint),
    };
    const relayedKube = await through("Kubernetes", kubeUrl);
    const relayed = (path: string): string => {
      const copy = join(this.#directory, `${path.replaceAll("/", "-")}.kubeconfig`);
      writeFileSync(copy, readFileSync(path, "utf8").replaceAll(kubeUrl, relayedKube), { mode: 0o600 });
      return copy;
    };
    const operatorEnv = { ...this.#cluster.environment, KUBECONFIG: relayed(this.#cluster.kubeconfigPath) };
    const apiEnv = {
      ...stores,
      ...apiTimes,
      ...unlimited,
      KUBECONFIG: relayed(adminKubeconfig),
      SESSIONS_NAMESPACE: this.#cluster.namespace,
      POD_NAMESPACE: releaseNamespace,
      LOG_LEVEL: "error",
    };
    for (let number = 0; number < replicas; number++) {
      const isSpared = number === 0;
      const ports = { operator: await freePort(), api: await freePort(), agent: await freePort() };
      const operator = await OperatorProcess.start({
        env: { ...operatorEnv, ...inspectable(ports.operator), LOG_LEVEL: "error" },
        identity: `operator-${number}`,
        program: operatorProgram,
      });
      this.#add(`operator-${number}`, isSpared, operator, ports.operator);
      const api = await ApiProcess.beside(
        this.api,
        { ...apiEnv, ...inspectable(ports.api), POD_NAME: `api-${number}` },
        apiProgram,
      );
      this.apiUrls.push(api.url);
      this.#add(`api-${number}`, isSpared, api, ports.api);
      const agent = await this.#startAgent(number, {
        ...inspectable(ports.agent),
        KUBECONFIG: relayed(adminKubeconfig),
        S3_ENDPOINT: stores.S3_ENDPOINT,
      });
      this.#add(`agent-${number}`, isSpared, agent, ports.agent);
    }
    await eventually(
      async () => {
        const nodes = await Promise.all(
          this.#cluster.nodeNames.map((name) => this.#cluster.gameNodes.get({ name })),
        );
        return nodes.every(({ status }) => status?.capacity?.schedulable === true);
      },
      { timeoutMs: 60_000, what: "schedulable game nodes" },
    );
    await eventually(
      async () => {
        const { leases, namespace, nodeNames } = this.#cluster;
        const renewed = await Promise.all(nodeNames.map((name) => leases.find({ namespace, name })));
        return renewed.every((lease) => lease?.spec?.renewTime !== undefined);
      },
      { timeoutMs: 60_000, what: "agents that are heard by their Leases" },
    );
  }

  async #startAgent(number: number, env: Record<string, string>): Promise<ChildProgram> {
    const port = await freePort();
    const { region, bucket, accessKey, secretKey } = this.api.deps.config.objectStore;
    const root = join(this.#directory, `node-${number}`);
    this.#roots.push(root);
    const agent = new ChildProgram({
      command: process.execPath,
      args: [join(repositoryRoot, agentProgram)],
      env: {
        ...imageEnvironment(),
        PATH: process.env["PATH"],
        NODE_NAME: this.#cluster.nodeNames[number],
        NODE_ROOT: root,
        SESSIONS_NAMESPACE: this.#cluster.namespace,
        NODE_AGENT_NAMESPACE: this.#cluster.namespace,
        CACHE_BUDGET_BYTES: String(2 ** 30),
        HTTP_PORT: String(port),
        LOG_LEVEL: "error",
        S3_REGION: region,
        S3_BUCKET: bucket,
        S3_ACCESS_KEY: accessKey,
        S3_SECRET_KEY: secretKey,
        ...env,
      },
      isReady: async () => (await fetch(`http://127.0.0.1:${port}/readyz`)).ok,
      install: "it is this Node",
    });
    await agent.start();
    return agent;
  }

  #add(
    name: string,
    isSpared: boolean,
    program: Omit<SoakProgram, "name" | "isSpared" | "inspectPort">,
    inspectPort: number,
  ): void {
    this.programs.push({
      name,
      isSpared,
      inspectPort,
      get pid() {
        return program.pid;
      },
      stop: (signal) => program.stop(signal),
      start: () => program.start(),
      signal: (signal) => program.signal(signal),
    });
  }
}

/** Stores a game and its archive, and returns its slug. */
async function aStoredGame({ deps, minio }: TestApi): Promise<string> {
  if (minio === undefined) throw new Error("The API was started without an object store.");
  const game = await aGame(deps, { launcher: "run.sh", engineDir: "engine" });
  const { key, sha256, sizeBytes } = await storeArchive(minio, aTarGz(aGameTar()));
  await deps.postgres.prisma.gameVersion.update({
    where: { id: game.versionId ?? "" },
    data: { objectKey: key, sha256, sizeBytes: BigInt(sizeBytes) },
  });
  return game.slug;
}
