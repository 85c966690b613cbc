import { randomBytes } from "node:crypto";
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { nodeReadyReasons } from "#contracts/crd/gameNodeReasons.ts";
import { limits } from "#contracts/limits.ts";
import {
  clusterRules as agentClusterRules,
  nodeAgentNamespaceRules,
  sessionsNamespaceRules as agentRules,
} from "#node-agent/rbac.ts";
import { clusterRules as apiClusterRules, releaseNamespaceRules, sessionsNamespaceRules } from "#api/rbac.ts";
import { type PolicyRule, leases } from "#kube/api/builtin.ts";
import { ResourceClient } from "#kube/client/resourceClient.ts";
import { eventually } from "../clocks/eventually.ts";
import { sharedKubeApiServer, type KubeApiServer } from "../cluster/kubeApiServer.ts";
import { grant } from "../cluster/kubeRoles.ts";
import { OperatorFixture } from "../fixtures/operatorFixture.ts";
import { TestApi } from "../http/api.ts";
import { ApiProcess } from "../http/apiProcess.ts";
import { ChildProgram, freePort } from "../processes/childProgram.ts";
import { controlPlaneProgram } from "../processes/controlPlaneProgram.ts";
import { imageEnvironment } from "../processes/imageEnvironment.ts";
import { repositoryRoot } from "../processes/programs.ts";
import { startRedis, type TestRedis } from "../stores/redis.ts";
import { directStores } from "../invariants/directStores.ts";
import { Invariants } from "../invariants/invariants.ts";
import { AgentLease } from "./agentLease.ts";
import { writeGatedKubeconfig } from "./gatedKubeconfig.ts";
import { objectFailure, objectWrite, startHttpGate } from "./httpGate.ts";
import { startPostgresGate } from "./postgresGate.ts";
import { startRedisGate } from "./redisGate.ts";
import { SessionContainers } from "./sessionContainers.ts";
import { Gate, type Program } from "./strike.ts";
import { Supervised } from "./supervised.ts";

/**
 * Heartbeats are sent every ten seconds. If the last one is older than this, the node gets no more sessions.
 */
const heartbeatStaleSeconds = 13;

/** Timeout of a health check, after which it is repeated. */
const healthMs = 5_000;

/** Starts a program with a tracer once if the file with its command exists. */
const byWayOfTracer =
  'if [ -e "$TRACER" ]; then words=$(cat "$TRACER"); rm "$TRACER"; exec $words "$@"; fi; exec "$@"';

/**
 * A complete platform for successive lives: API, operator and node agent run the programs of their image with
 * their own rights on a real API server, Postgres, MinIO and Redis, and all their writes pass a gate. The
 * packer is real too. Scheduler and kubelet are simulated.
 */
export class CrashWorld {
  readonly api: TestApi;
  readonly fixture: OperatorFixture;
  readonly gate: Gate;
  /** Root folder of the node agent. */
  readonly root: string;
  readonly containers: SessionContainers;
  /** Invariants that must always hold. */
  readonly invariants: Invariants;
  readonly #server: KubeApiServer;
  readonly #redis: TestRedis;
  readonly #programs = new Map<Program, Supervised>();
  readonly #environments = new Map<Program, Record<string, string>>();
  readonly #cleanUps: (() => Promise<void> | void)[] = [];
  /** GameNodes are cluster-wide, and worlds share a cluster. */
  readonly #installation = `crash-${randomBytes(3).toString("hex")}`;
  #primaryApi: ApiProcess | undefined;
  #standby: { api?: ApiProcess; operator?: ChildProgram } = {};
  readonly #agentLease: AgentLease;

  private constructor(parts: {
    api: TestApi;
    fixture: OperatorFixture;
    server: KubeApiServer;
    redis: TestRedis;
  }) {
    ({ api: this.api, fixture: this.fixture } = parts);
    this.#server = parts.server;
    this.#redis = parts.redis;
    this.#agentLease = new AgentLease(parts.fixture);
    this.gate = new Gate({
      kill: (program) => this.#kill(program),
      freeze: (program) => this.#freeze(program),
      wake: (program) => this.#program(program).signal("SIGCONT"),
    });
    this.root = join(mkdtempSync(join(tmpdir(), "joypod-crash-")), "root");
    mkdirSync(this.root);
    chmodSync(join(this.root, ".."), 0o755);
    const { sessions, pods, namespace } = parts.fixture;
    this.containers = new SessionContainers(
      this.root,
      async (name) => (await sessions.find({ name, namespace }))?.metadata.uid,
    );
    this.invariants = new Invariants(
      directStores({ pool: parts.api.deps.postgres.pool, sessions, pods, namespace, minio: parts.api.minio }),
    );
  }

  static async start(): Promise<CrashWorld> {
    const [server, redis] = await Promise.all([sharedKubeApiServer(), startRedis()]);
    // It serves no requests; tests use it to create users and to read the stores.
    const [api, fixture] = await Promise.all([
      TestApi.start({ minio: true, hasFaults: true, redisUrl: redis.url, env: { LOG_LEVEL: "error" } }),
      OperatorFixture.start(),
    ]);
    const world = new CrashWorld({ api, fixture, server, redis });
    try {
      await world.#open();
      return world;
    } catch (cause) {
      const logs = world.logs();
      await world.stop();
      throw new Error(`The platform does not start: ${String(cause)}\n${logs}`, { cause });
    }
  }

  /** Returns the replica that receives players' requests: one that is not frozen. */
  get serving(): { url: string } {
    const serving = this.#standby.api ?? this.#primaryApi;
    if (serving === undefined) throw new Error("No API runs.");
    return serving;
  }

  /** Resolves when all programs are running again, and replacements of frozen ones are gone. */
  async recover(): Promise<void> {
    this.gate.disarm();
    // A life may end once the standby leads, before the gate has noticed that it leads.
    await this.gate.over();
    await this.#standby.api?.stop("SIGTERM");
    await this.#standby.operator?.stop("SIGTERM");
    this.#standby = {};
    await Promise.all([...this.#programs.values()].map((program) => program.awaitStart()));
    await this.#leads("joypod-operator", "operator-1");
    await this.#agentLease.awaitRenewal();
    await eventually(
      async () => (await fetch(`${this.serving.url}/healthz`, { signal: AbortSignal.timeout(healthMs) })).ok,
      { what: "the API to serve", timeoutMs: 30_000 },
    );
  }

  /**
   * Restarts the node agent once with this command prefix, that of a tracer that makes a call fail or kills
   * the agent there.
   */
  async startAgentBy(words: readonly string[]): Promise<void> {
    writeFileSync(this.#tracerFile("nodeAgent"), words.join(" "));
    await this.#program("nodeAgent").kill();
    await eventually(() => !existsSync(this.#tracerFile("nodeAgent")), { what: "the agent to be started" });
  }

  #tracerFile(program: Program): string {
    return join(this.root, "..", `${program}.tracer`);
  }

  /** Returns the content of an object. */
  async readObject(key: string): Promise<Buffer> {
    const { minio } = this.api;
    if (minio === undefined) throw new Error("There is no object store.");
    const chunks: Buffer[] = [];
    for await (const chunk of (await minio.client.getObject(minio.bucket, key)) as AsyncIterable<Buffer>)
      chunks.push(chunk);
    return Buffer.concat(chunks);
  }

  /** Returns the newest log lines of each program. */
  logs(lines = 25): string {
    const primary = this.#primaryApi?.output ?? "";
    const texts = [
      ["api", primary],
      ...this.#logFiles.map(([name, file]) => [name, existsSync(file) ? readFileSync(file, "utf8") : ""]),
    ];
    texts.push(["packer", this.containers.log()]);
    return texts
      .map(
        ([name, text]) =>
          `--- ${name}\n${(text ?? "")
            .trimEnd()
            .split("\n")
            .slice(-lines)
            .map((line) => line.slice(0, 500))
            .join("\n")}`,
      )
      .join("\n");
  }

  async stop(): Promise<void> {
    await Promise.all([...this.#programs.values()].map((program) => program.end()));
    await this.#standby.api?.stop();
    await this.#standby.operator?.stop();
    this.containers.kill();
    await this.fixture.clear();
    for (const cleanUp of this.#cleanUps) await cleanUp();
    await this.api.stop();
    await this.#redis.server.stop();
    rmSync(join(this.root, ".."), { recursive: true, force: true });
  }

  readonly #logFiles: [string, string][] = [];

  async #open(): Promise<void> {
    const { behaviour } = this.fixture.components;
    // Agent and recorder are not simulated here.
    for (const name of this.fixture.nodeNames) behaviour.nodesWithoutAgent.add(name);
    behaviour.isRecorderUnavailable = true;
    behaviour.podIp = "127.0.0.1";
    behaviour.containers = {
      start: (pod) => this.containers.start(pod.metadata.name),
      end: (pod) => this.containers.end(pod.metadata.name),
    };
    await Promise.all([this.#setApi(), this.#setOperator(), this.#setNodeAgent()]);
    await Promise.all([this.#startApi(), this.#startOperator(), this.#startNodeAgent()]);
    await eventually(
      async () => {
        const node = await this.fixture.gameNodes.find({ name: this.fixture.nodeNames[0] ?? "" });
        if (node?.status?.capacity?.schedulable !== true) throw new Error(JSON.stringify(node?.status));
        return true;
      },
      { what: "a node that takes sessions", timeoutMs: 120_000 },
    );
    await this.#agentLease.awaitRenewal();
  }

  async #setApi(): Promise<void> {
    const { namespace } = this.fixture;
    const { postgres, redis, objectStore } = this.api.deps.config;
    const user = `api-of-${namespace}`;
    const { kubeconfigPath } = await this.#server.asUser(user, [...apiClusterRules]);
    // Both namespaces in one.
    await grant(
      this.#server.admin,
      { kind: "User", name: user },
      [...sessionsNamespaceRules, ...releaseNamespaceRules],
      namespace,
    );
    const gates = { gate: this.gate, program: "api" as const };
    const [database, redisGate, store] = await Promise.all([
      startPostgresGate({ ...gates, url: postgres.url }),
      startRedisGate({ ...gates, url: redis.url }),
      startHttpGate({
        ...gates,
        store: "object store",
        target: objectStore.endpoint,
        nameWrite: objectWrite,
        failure: objectFailure,
      }),
    ]);
    this.#cleanUps.push(
      () => database.close(),
      () => redisGate.close(),
      () => store.close(),
    );
    const environment = {
      SESSIONS_NAMESPACE: namespace,
      POD_NAMESPACE: namespace,
      INSTALLATION: this.#installation,
      LOG_LEVEL: "info",
      TTL_SECONDS_AFTER_FINISHED: "0",
      PARTNER_REQUESTS_PER_MINUTE: "10000",
      PARTNER_UPLOADS_PER_HOUR: "10000",
      LAUNCHES_PER_MINUTE: "10000",
      LAUNCHES_PER_HOUR: "10000",
      POLLS_PER_MINUTE: "100000",
      CATALOG_REQUESTS_PER_MINUTE: "100000",
    };
    this.#environments.set("api", {
      ...environment,
      KUBECONFIG: await this.#gatedKubeconfig("api", kubeconfigPath),
      DATABASE_URL: database.url,
      REDIS_URL: redisGate.url,
      S3_ENDPOINT: store.url,
    });
    this.#standbyEnvironments.api = { ...environment, KUBECONFIG: kubeconfigPath };
  }

  readonly #standbyEnvironments: { api: Record<string, string>; operator: Record<string, string> } = {
    api: {},
    operator: {},
  };

  async #setOperator(): Promise<void> {
    const { kubeconfigPath, environment } = this.fixture;
    const own = {
      ...imageEnvironment(),
      ...environment,
      PATH: process.env["PATH"] ?? "",
      NODE_ROOT: this.root,
      INSTALLATION: this.#installation,
      LEASE_SECONDS: "4",
      HEARTBEAT_STALE_SECONDS: String(heartbeatStaleSeconds),
      SOFTWARE_SLOTS: "100",
      PORT_QUARANTINE_SECONDS: "0",
    };
    this.#environments.set("operator", {
      ...own,
      POD_NAME: "operator-1",
      KUBECONFIG: await this.#gatedKubeconfig("operator", kubeconfigPath),
    });
    this.#standbyEnvironments.operator = { ...own, POD_NAME: "operator-2", KUBECONFIG: kubeconfigPath };
  }

  async #setNodeAgent(): Promise<void> {
    const { namespace, nodeNames } = this.fixture;
    const user = `agent-of-${namespace}`;
    const rules: readonly PolicyRule[] = agentClusterRules;
    const { kubeconfigPath } = await this.#server.asUser(user, rules);
    await grant(
      this.#server.admin,
      { kind: "User", name: user },
      [...agentRules, ...nodeAgentNamespaceRules],
      namespace,
    );
    const { endpoint, region, bucket, accessKey, secretKey } = this.api.deps.config.objectStore;
    const store = await startHttpGate({
      gate: this.gate,
      program: "nodeAgent",
      store: "object store",
      target: endpoint,
      nameWrite: objectWrite,
      failure: objectFailure,
    });
    this.#cleanUps.push(() => store.close());
    this.#environments.set("nodeAgent", {
      ...imageEnvironment(),
      PATH: process.env["PATH"] ?? "",
      NODE_NAME: nodeNames[0] ?? "",
      SESSIONS_NAMESPACE: namespace,
      NODE_AGENT_NAMESPACE: namespace,
      INSTALLATION: this.#installation,
      NODE_ROOT: this.root,
      CACHE_BUDGET_BYTES: String(2 ** 30),
      SAVE_INTERVAL_SECONDS: "0.5",
      S3_ENDPOINT: store.url,
      S3_REGION: region,
      S3_BUCKET: bucket,
      S3_ACCESS_KEY: accessKey,
      S3_SECRET_KEY: secretKey,
      KUBECONFIG: await this.#gatedKubeconfig("nodeAgent", kubeconfigPath),
    });
  }

  async #gatedKubeconfig(program: Program, kubeconfigPath: string): Promise<string> {
    const path = join(this.root, "..", `${program}.kubeconfig`);
    const { close } = await writeGatedKubeconfig({
      gate: this.gate,
      program,
      from: kubeconfigPath,
      to: path,
    });
    this.#cleanUps.push(close);
    return path;
  }

  async #startApi(): Promise<void> {
    this.#primaryApi = await ApiProcess.beside(
      this.api,
      this.#environments.get("api"),
      controlPlaneProgram("api"),
    );
    this.#supervise("api", this.#primaryApi);
  }

  async #startOperator(): Promise<void> {
    const program = await this.#child("operator", this.#environments.get("operator") ?? {});
    this.#supervise("operator", program);
  }

  async #startNodeAgent(): Promise<void> {
    this.#supervise("nodeAgent", await this.#child("nodeAgent", this.#environments.get("nodeAgent") ?? {}));
  }

  async #child(
    program: "operator" | "nodeAgent",
    environment: Record<string, string>,
  ): Promise<ChildProgram> {
    const port = await freePort();
    const child = new ChildProgram({
      command: "sh",
      args: ["-c", byWayOfTracer, "sh", process.execPath, join(repositoryRoot, controlPlaneProgram(program))],
      env: { ...environment, HTTP_PORT: String(port), TRACER: this.#tracerFile(program) },
      // A standby also counts as ready, and so does an agent that waits for its folder.
      isReady: async () => (await fetch(`http://127.0.0.1:${port}/healthz`)).ok,
      install: "it is this Node",
      readyTimeoutMs: 120_000,
    });
    await child.start();
    this.#logFiles.push([program, child.logFile]);
    return child;
  }

  #supervise(name: Program, program: ApiProcess | ChildProgram): void {
    const supervised = new Supervised(name, program);
    this.#programs.set(name, supervised);
    supervised.watch();
  }

  #program(name: Program): Supervised {
    const program = this.#programs.get(name);
    if (program === undefined) throw new Error(`${name} does not run.`);
    return program;
  }

  async #kill(program: Program): Promise<void> {
    await this.#program(program).kill();
    if (program === "nodeAgent") await this.#agentLease.ended();
  }

  /**
   * Freezes the program. For API and operator, another replica takes over the lease. An agent cannot be
   * replaced, because it holds its folder, so it counts as silent.
   */
  async #freeze(program: Program): Promise<void> {
    this.#program(program).signal("SIGSTOP");
    if (program === "api") {
      const standby = await ApiProcess.beside(
        this.api,
        this.#standbyEnvironments.api,
        controlPlaneProgram("api"),
      );
      this.#standby.api = standby;
      await this.#leads("joypod-api", `api-${new URL(standby.url).port}`);
    } else if (program === "operator") {
      this.#standby.operator = await this.#child("operator", this.#standbyEnvironments.operator);
      await this.#leads("joypod-operator", "operator-2");
    } else {
      await eventually(
        async () => {
          const node = await this.fixture.gameNodes.get({ name: this.fixture.nodeNames[0] ?? "" });
          return node.status?.capacity?.unschedulable?.reason === nodeReadyReasons.agentSilent;
        },
        {
          what: "the agent's heartbeat to be stale",
          timeoutMs: 2 * limits.node.heartbeatStaleSeconds * 1_000,
        },
      );
      await this.#agentLease.expectSilence(heartbeatStaleSeconds);
    }
  }

  async #leads(name: string, identity: string): Promise<void> {
    const client = new ResourceClient(this.#server.admin, leases);
    await eventually(
      async () =>
        (await client.find({ namespace: this.fixture.namespace, name }))?.spec?.holderIdentity === identity,
      { what: `${identity} to lead`, timeoutMs: 40_000 },
    );
  }
}
