import { execFileSync, spawn, type ChildProcess } from "node:child_process";
import { randomBytes } from "node:crypto";
import { chmodSync, chownSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ArchiveSource, GameCache } from "#contracts/crd/gameCache.ts";
import type { GameNode } from "#contracts/crd/gameNode.ts";
import type { GameSession, GameSessionSpec, StoredSave } from "#contracts/crd/gameSession.ts";
import { fieldManagers } from "#contracts/crd/names.ts";
import { contentDirectory, podVolumes, sessionDirectory, sessionUserId, spoolNames } from "#contracts/nodeLayout.ts";
import { SpoolManifest } from "#contracts/spool.ts";
import { events, pods, type Event, type Pod } from "#kube/builtin.ts";
import { systemClock } from "#kube/clock.ts";
import { findCondition } from "#kube/conditions.ts";
import type { Stored } from "#kube/object.ts";
import { ResourceClient } from "#kube/resourceClient.ts";
import type { KubeTransport } from "#kube/transport.ts";
import { startAgent, type Agent } from "../../node-agent/src/agent.ts";
import { readConfig } from "../../node-agent/src/config.ts";
import { createLogger } from "../../node-agent/src/logger.ts";
import { createMetrics } from "../../node-agent/src/metrics.ts";
import { clusterRules, sessionsNamespaceRules } from "../../node-agent/src/rbac.ts";
import { gameCaches, gameNodes, gameSessions } from "../../node-agent/src/resources.ts";
import { aGameSessionSpec } from "#test/factories/gameSession.ts";
import { containerStatus } from "#test/factories/sessionPod.ts";
import { aGameTar, aTarGz } from "#test/factories/tarArchive.ts";
import { eventually } from "./eventually.ts";
import { startFaultProxy, type FaultProxy } from "./faultProxy.ts";
import { sharedKubeApiServer } from "./kubeApiServer.ts";
import { grant } from "./kubeRoles.ts";
import { startMinio, type TestMinio } from "./minio.ts";
import { startPackerLife, type PackerLife } from "./packerStage.ts";
import { repositoryRoot } from "./programs.ts";
import { storeArchive } from "./storedArchive.ts";

/** One node's agent under its own Roles, against a real API server and a real MinIO, with real packers; the test plays operator and kubelet. */
export class NodeAgentStage {
  readonly minio: TestMinio;
  readonly proxy: FaultProxy;
  readonly namespace: string;
  readonly node = `node-${randomBytes(4).toString("hex")}`;
  readonly root = join(mkdtempSync(join(tmpdir(), "joypod-node-")), "root");
  readonly sessions: ResourceClient<GameSession>;
  readonly caches: ResourceClient<GameCache>;
  readonly nodes: ResourceClient<GameNode>;
  readonly pods: ResourceClient<Pod>;
  readonly events: ResourceClient<Event>;
  readonly #agentTransport: KubeTransport;
  readonly #kubeconfigPath: string;
  readonly #stopping = new AbortController();
  readonly #packers = new Map<string, PackerLife>();
  #agent: Agent | undefined;
  #process: ChildProcess | undefined;

  private constructor(parts: { minio: TestMinio; proxy: FaultProxy; namespace: string; admin: KubeTransport; agent: { transport: KubeTransport; kubeconfigPath: string } }) {
    this.minio = parts.minio;
    this.proxy = parts.proxy;
    this.namespace = parts.namespace;
    this.sessions = new ResourceClient(parts.admin, gameSessions);
    this.caches = new ResourceClient(parts.admin, gameCaches);
    this.nodes = new ResourceClient(parts.admin, gameNodes);
    this.pods = new ResourceClient(parts.admin, pods);
    this.events = new ResourceClient(parts.admin, events);
    this.#agentTransport = parts.agent.transport;
    this.#kubeconfigPath = parts.agent.kubeconfigPath;
    mkdirSync(this.root);
    // Packers run as the session's user.
    chmodSync(join(this.root, ".."), 0o755);
  }

  static async set(minio: TestMinio): Promise<NodeAgentStage> {
    const server = await sharedKubeApiServer();
    const namespace = await server.createNamespace("sessions");
    const user = `agent-${namespace}`;
    const agent = await server.asUser(user, [...clusterRules]);
    await grant(server.admin, { kind: "User", name: user }, [...sessionsNamespaceRules], namespace);
    return new NodeAgentStage({ minio, proxy: await startFaultProxy(minio.endpoint), namespace, admin: server.admin, agent });
  }

  /** Starts a MinIO for the stages of one file. */
  static startMinio(): Promise<TestMinio> {
    return startMinio();
  }

  get environment(): NodeJS.ProcessEnv {
    const { endpoint } = this.proxy;
    const { region, bucket, accessKey, secretKey } = this.minio;
    return {
      NODE_NAME: this.node, SESSIONS_NAMESPACE: this.namespace, NODE_ROOT: this.root, CACHE_BUDGET_BYTES: String(2 ** 30),
      SAVE_INTERVAL_SECONDS: "0.3", S3_ENDPOINT: endpoint, S3_REGION: region, S3_BUCKET: bucket, S3_ACCESS_KEY: accessKey, S3_SECRET_KEY: secretKey,
      HTTP_PORT: "0", LOG_LEVEL: process.env.TEST_LOG_LEVEL ?? "error",
    };
  }

  /** Starts the agent in this process. */
  async startAgent(): Promise<void> {
    const config = readConfig(this.environment);
    this.#agent = await startAgent({
      config, transport: this.#agentTransport, clock: systemClock, random: Math.random, metrics: createMetrics(),
      logger: createLogger({ level: config.logLevel, node: this.node }), signal: this.#stopping.signal,
      onLockLost: () => {
        throw new Error("The agent lost the lock of its root.");
      },
    });
  }

  async stopAgent(): Promise<void> {
    await this.#agent?.stop();
    this.#agent = undefined;
  }

  /** Starts the agent as a program of its own, to be killed. */
  startProcess(): void {
    const environment = { ...this.environment, KUBECONFIG: this.#kubeconfigPath, PATH: process.env.PATH };
    this.#process = spawn(process.execPath, [join(repositoryRoot, "node-agent/src/main.ts")], { env: environment, stdio: ["ignore", "inherit", "inherit"] });
  }

  async killProcess(signal: NodeJS.Signals = "SIGKILL"): Promise<number | null> {
    const child = this.#process;
    this.#process = undefined;
    if (child === undefined) return null;
    const ended = new Promise<number | null>((resolve) => child.once("exit", resolve));
    child.kill(signal);
    return ended;
  }

  async clear(): Promise<void> {
    await this.stopAgent();
    await this.killProcess();
    for (const { process: packer } of this.#packers.values()) packer.kill("SIGKILL");
    await this.proxy.close();
    // Nodes are the whole cluster's, and other tests count them.
    if (await this.nodes.find({ name: this.node }) !== undefined) await this.nodes.delete({ name: this.node });
    rmSync(join(this.root, ".."), { recursive: true, force: true });
  }

  async createGameNode(desired: GameNode["spec"]["desired"] = []): Promise<void> {
    await this.nodes.create({ metadata: { name: this.node }, spec: { desired } });
  }

  gameNode(): Promise<Stored<GameNode>> {
    return this.nodes.get({ name: this.node });
  }

  /** Uploads a game and names it by a GameCache. */
  async createGame(bytes = 200_000): Promise<ArchiveSource> {
    const source = await storeArchive(this.minio, aTarGz(aGameTar(randomBytes(bytes))), { unpackedSizeBytes: bytes + 1000 });
    await this.caches.create({
      metadata: { name: `game-${source.sha256.slice(0, 10)}`, namespace: this.namespace },
      spec: {
        source, placement: { policy: "OnDemand" }, priority: 0, pinned: false, keepVersions: 1, rollout: { maxParallelNodes: 2 }, suspend: false,
      },
    });
    return source;
  }

  /** Launches the game and places the session here, as API and operator would. */
  async launch(source: ArchiveSource, spec: Partial<GameSessionSpec> = {}): Promise<string> {
    const name = `gs-${randomBytes(8).toString("hex")}`;
    const slot = { slotId: `slot-${name}`, number: 1, generation: 0 };
    await this.sessions.create({
      metadata: { name, namespace: this.namespace },
      spec: aGameSessionSpec({ gameCacheRef: { name: `game-${source.sha256.slice(0, 10)}` }, contentDigest: source.sha256, saveSlot: slot, ...spec }),
    });
    await this.operate(name, { nodeName: this.node });
    return name;
  }

  /** Writes the operator's part of the status, all of it each time. */
  async operate(name: string, status: Partial<NonNullable<GameSession["status"]>>): Promise<void> {
    await this.sessions.applyStatus({ metadata: { name, namespace: this.namespace }, status: { nodeName: this.node, ...status } }, { fieldManager: fieldManagers.operator });
  }

  async finish(name: string): Promise<void> {
    const finished = { type: "Finished", status: "True" as const, reason: "UserRequested", message: "", lastTransitionTime: new Date().toISOString().replace(/\.\d+/, "") };
    await this.operate(name, { conditions: [finished] });
  }

  session(name: string): Promise<Stored<GameSession>> {
    return this.sessions.get({ name, namespace: this.namespace });
  }

  /** Waits until the agent's condition has the status, and gives its reason. */
  async condition(name: string, type: string, status: "True" | "False", reason?: string): Promise<string> {
    return eventually(async () => {
      const found = findCondition((await this.session(name)).status?.conditions, type);
      return found?.status === status && (reason === undefined || found.reason === reason) && found.reason;
    }, { timeoutMs: 20_000, what: `${type} to be ${status}${reason === undefined ? "" : ` by ${reason}`}` });
  }

  /** Waits until the agent has done its part: the packer has its order. */
  async ordered(name: string): Promise<void> {
    await eventually(() => existsSync(`${this.folder(name)}/${spoolNames.order}`), { timeoutMs: 20_000, what: "the restore to be ordered" });
  }

  /** The pod of the session, with its streamer's packer and its game running. */
  async startPod(name: string): Promise<void> {
    await this.createPod(name, [{ name: podVolumes.spool, hostPath: { path: this.folder(name), type: "Directory" } }]);
    mkdirSync(this.volume(name), { recursive: true });
    chownSync(this.volume(name), sessionUserId, sessionUserId);
    await this.startPacker(name);
    await eventually(() => existsSync(this.saves(name)), { timeoutMs: 20_000, what: "the save directory" });
    await this.condition(name, "ContentReady", "True");
    await this.condition(name, "SaveRestored", "True");
    await this.operate(name, { podRef: { name, uid: (await this.session(name)).metadata.uid } });
    await this.setGame(name, { running: { startedAt: new Date().toISOString() } });
  }

  /** The pod alone, with these volumes beside the game's files. */
  async createPod(name: string, volumes: NonNullable<NonNullable<Pod["spec"]>["volumes"]>): Promise<void> {
    const { spec } = await this.session(name);
    const content = { name: "game", hostPath: { path: contentDirectory(this.root, spec.contentDigest), type: "Directory" } };
    await this.pods.create({
      metadata: { name, namespace: this.namespace, finalizers: ["joypod.dev/usage"] },
      spec: { nodeName: this.node, containers: [{ name: "game", image: "game" }], volumes: [content, ...volumes], automountServiceAccountToken: false },
    });
  }

  /** A life of the session's packer, as the streamer starts it. */
  async startPacker(name: string): Promise<PackerLife> {
    const { metadata: { uid } } = await this.session(name);
    const life = startPackerLife({ SAVE_VOLUME: this.volume(name), SPOOL_DIR: this.folder(name), SESSION_UID: uid, SPOOL_SECONDS: "1" });
    this.#packers.set(name, life);
    return life;
  }

  /** The game ends, its saves are packed for the last time, and the kubelet says so. */
  async endGame(name: string): Promise<void> {
    await this.finishPacker(name);
    await this.setGame(name, { terminated: { exitCode: 0, reason: "Completed" } });
  }

  /** The game ends, and its saves are packed for the last time. */
  async finishPacker(name: string): Promise<void> {
    await this.#packers.get(name)?.finish();
  }

  async killPacker(name: string): Promise<void> {
    const packer = this.#packers.get(name);
    packer?.process.kill("SIGKILL");
    await packer?.exited;
  }

  /** The pod is torn away, packer and all, without a last pack. */
  async tearPodAway(name: string): Promise<void> {
    await this.killPacker(name);
    rmSync(this.volume(name), { recursive: true, force: true });
    await this.setGame(name, { terminated: { exitCode: 137, reason: "Error" } });
  }

  /** The session's folder on the node. */
  folder(name: string): string {
    return sessionDirectory(this.root, name);
  }

  /** The session's save volume. */
  volume(name: string): string {
    return join(this.root, "..", `volume-${name}`);
  }

  saves(name: string): string {
    return `${this.volume(name)}/save`;
  }

  /** A session whose game runs. */
  async aRunningSession(spec: Partial<GameSessionSpec> = {}): Promise<string> {
    const name = await this.launch(await this.createGame(), spec);
    await this.ordered(name);
    await this.startPod(name);
    return name;
  }

  /** Waits for this save of the session, or a later one. */
  async storedSave(name: string, sequence: number): Promise<StoredSave> {
    return eventually(async () => {
      const save = (await this.session(name)).status?.save;
      return save !== undefined && save.sequence >= sequence && save;
    }, { timeoutMs: 20_000, what: `save ${sequence} to be stored` });
  }

  /** Waits until the packer's manifest names a pack of a session. */
  async packed(name: string): Promise<void> {
    const manifest = `${this.folder(name)}/${spoolNames.manifest}`;
    await eventually(() => existsSync(manifest) && SpoolManifest.parse(JSON.parse(readFileSync(manifest, "utf8"))).save !== undefined, { timeoutMs: 20_000, what: "a pack" });
  }

  /** Names of the packs in the session's folder. */
  packsOf(name: string): string[] {
    return readdirSync(`${this.folder(name)}/${spoolNames.packed}`).filter((file) => /^save-.*\.tar\.gz$/.test(file));
  }

  /** What a file of a stored save says. */
  async readSaved(key: string, file: string): Promise<string> {
    return execFileSync("tar", ["-xzO", file], { input: await this.readObject(key), encoding: "utf8" });
  }

  /** Keys of the stored saves of a slot, oldest first. */
  async storedSaves(slotId: string): Promise<string[]> {
    const keys: string[] = [];
    for await (const item of this.minio.client.listObjectsV2(this.minio.bucket, `saves/${slotId}/`, true) as AsyncIterable<{ name: string }>) keys.push(item.name);
    return keys;
  }

  async readObject(key: string): Promise<Buffer> {
    const path = join(this.root, "..", `object-${randomBytes(4).toString("hex")}`);
    await this.minio.client.fGetObject(this.minio.bucket, key, path);
    return readFileSync(path);
  }

  /** Reasons of the events about a session, or about the node, whose events have no namespace of their own. */
  async eventsOf(name: string): Promise<string[]> {
    const { items } = await this.events.listAll({ namespace: name === this.node ? "default" : this.namespace });
    return items.filter((event) => event.regarding?.name === name).map(({ reason }) => reason ?? "");
  }

  async setGame(name: string, state: Parameters<typeof containerStatus>[1]): Promise<void> {
    const status = { phase: state?.terminated === undefined ? "Running" : "Succeeded", containerStatuses: [containerStatus("game", state)] };
    await this.pods.mergePatchStatus({ name, namespace: this.namespace }, { status });
  }
}
