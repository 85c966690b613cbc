import { ownershipConflict } from "#contracts/crd/installation.ts";
import { eventControllers } from "#contracts/crd/names.ts";
import { gameNodeEventReasons } from "#contracts/crd/gameNodeReasons.ts";
import { isFinished } from "#contracts/crd/sessionState.ts";
import { Controller } from "#kube/controllers/controller.ts";
import { EventRecorder } from "#kube/controllers/eventRecorder.ts";
import { fromCache } from "#kube/cache/source.ts";
import type { KubeTransport } from "#kube/client/transport.ts";
import type { Clock } from "#runtime/scheduling/clock.ts";
import type { Logger } from "#runtime/logger.ts";
import { systemErrorCode } from "#runtime/errors.ts";
import { ContentCache } from "./cache/contentCache.ts";
import { createObjectFiles } from "./cache/objectFiles.ts";
import { readDiskSpace } from "./cache/space.ts";
import { createNodeClients, watchNode, type NodeClients, type NodeWatches } from "./cluster/watchNode.ts";
import type { Config } from "./config.ts";
import { createKeptFolders, type KeptFolders } from "./disk/keptFolders.ts";
import { nodePaths, type NodePaths } from "./disk/nodePaths.ts";
import { holdRootLock, type RootLock } from "./disk/rootLock.ts";
import { TreeRemover } from "./disk/treeRemover.ts";
import { describeUnwritableRoot } from "./disk/files.ts";
import type { Metrics } from "./metrics.ts";
import { NodeChecks } from "./checks/nodeChecks.ts";
import { createObjectStore, type ObjectStore } from "./objectStore/objectStore.ts";
import { ObjectStoreProbe } from "./objectStore/objectStoreProbe.ts";
import { contentInUse, fromContent, fromDisk, onceSynced } from "./sessions/sources.ts";
import { createSessionReconciler } from "./sessions/reconciler.ts";
import { createSessionReporter } from "./sessions/report.ts";
import { createSessionFiles, type SessionFiles } from "./sessions/sessionFiles.ts";
import { TransferTurns } from "./sessions/transferTurns.ts";
import { createSpoolWatcher, ReadFailures, type SpoolWatcher } from "./spool/readSpool.ts";
import { Heartbeat, NodeReporter } from "./status/nodeReporter.ts";

/** Dependencies of the agent. */
export interface AgentDeps {
  config: Config;
  transport: KubeTransport;
  clock: Clock;
  random: () => number;
  logger: Logger;
  metrics: Metrics;
  /** Called when another process may have taken over the root. This process must exit at once. */
  onLockLost: () => void;
}

/**
 * Concurrency limit of session passes. Most passes wait for their turn at the object store or for its
 * response.
 */
const passesAtOnce = 128;
/**
 * Every wait in a pass has a separate deadline. This exceeds the longest one, for the largest save over the
 * slowest connection.
 */
const passTimeoutMs = 6 * 3_600_000;
const passBackOff = { baseMs: 1_000, maxMs: 30_000 };
/** The API server counts as unreachable if none of its watches was heard for this long. */
const silenceMs = 5 * 60_000;

/**
 * Serves one node: keeps its games unpacked, prepares its sessions, stores their saves, and reports its
 * state.
 */
export class Agent {
  readonly #deps: AgentDeps;
  readonly #paths: NodePaths;
  readonly #clients: NodeClients;
  readonly #watches: NodeWatches;
  readonly #objectStore: ObjectStore;
  readonly #probe: ObjectStoreProbe;
  readonly #cache: ContentCache;
  readonly #remover: TreeRemover;
  readonly #kept: KeptFolders;
  readonly #files: SessionFiles;
  readonly #watcher: SpoolWatcher;
  readonly #events: EventRecorder;
  readonly #checks: NodeChecks;
  readonly #reporter: NodeReporter;
  readonly #heartbeat: Heartbeat;
  readonly #sessions: Controller;
  #lock: RootLock | undefined;
  /** Sessions whose folders a previous process left. */
  #left: readonly string[] = [];
  #isStarted = false;

  constructor(deps: AgentDeps) {
    const { config, transport, clock, random, logger, metrics } = deps;
    const { node, sessionsNamespace: namespace, root } = config;
    this.#deps = deps;
    this.#paths = nodePaths(root);
    this.#clients = createNodeClients(transport);
    this.#watches = watchNode(this.#clients, {
      node,
      namespace,
      clock,
      random,
      logger,
      metrics: metrics.kube,
    });
    this.#objectStore = createObjectStore(config.objectStore);
    this.#probe = new ObjectStoreProbe({
      objectStore: this.#objectStore,
      bucket: config.objectStore.bucket,
      clock,
      logger,
      onChange: () => this.#onObjectStoreChange(),
    });
    this.#remover = new TreeRemover({ trash: this.#paths.trash, clock, random, logger });
    this.#cache = new ContentCache({
      files: createObjectFiles(this.#paths, this.#remover),
      objectStore: this.#objectStore,
      budgetBytes: config.cacheBudgetBytes,
      readDiskSpace: () => readDiskSpace(root),
      inUse: () =>
        contentInUse(this.#watches.gameSessions.cache, this.#watches.pods.cache, this.#paths.objects),
      isPlayed: () => this.#watches.gameSessions.cache.list().some((session) => !isFinished(session)),
      fillBytesPerSecond: config.fillBytesPerSecond,
      clock,
      random,
      logger,
      metrics,
    });
    this.#kept = createKeptFolders(this.#paths.keptSessions, this.#remover);
    this.#files = createSessionFiles({
      paths: this.#paths,
      remover: this.#remover,
      kept: this.#kept,
      logger,
    });
    this.#watcher = createSpoolWatcher(logger);
    this.#events = new EventRecorder({
      transport,
      controller: eventControllers.nodeAgent,
      instance: node,
      logger,
      clock,
    });
    this.#checks = new NodeChecks({
      root,
      intervalMs: config.checkIntervalMs,
      clockOffsetMs: () => transport.clockOffsetMs,
      makeSpace: () => this.#cache.relieve(),
      clock,
      logger,
      onChange: () => this.#reporter.changed(),
    });
    this.#reporter = new NodeReporter({
      node,
      client: this.#clients.gameNodes,
      cache: this.#cache,
      keptFolders: () => this.#kept.count(),
      agentVersion: config.agentVersion,
      objectStoreState: () => this.#probe.state,
      checks: () => this.#checks.findings(),
      gameNode: () => this.#gameNode(),
      clock,
      random,
      logger,
      onWritten: (gameNode) => void this.#watches.gameNode.cache.upsert(gameNode),
      hasLease: () => this.#heartbeat.isKept,
    });
    this.#heartbeat = new Heartbeat({
      node,
      namespace: config.nodeAgentNamespace,
      client: this.#clients.leases,
      isServed: () => this.#gameNode() !== undefined,
      onChange: () => this.#reporter.changed(),
      clock,
      logger,
    });
    this.#sessions = this.#createSessionController();
  }

  /**
   * Waits for exclusive use of the root, cleans up after a previous process, and starts serving the node.
   * Throws the signal's reason.
   */
  async start(signal: AbortSignal): Promise<void> {
    this.#lock = await this.#holdRoot(signal);
    await this.#remover.start();
    await this.#cache.load();
    await this.#kept.open();
    this.#left = await this.#files.load();
    this.#watches.gameNode.cache.subscribe(() => this.#onGameNodeChange());
    for (const reflector of Object.values(this.#watches)) reflector.start();
    this.#probe.start();
    await this.#checks.start();
    this.#reporter.start();
    this.#heartbeat.start();
    // Resolves when the watches have synced. Rejects only if the agent is stopped first.
    this.#sessions
      .start()
      .then(() => this.#takeDesired())
      .catch((error: unknown) =>
        this.#deps.logger.debug(
          { err: error },
          "The agent was stopped before it had read the cluster's state.",
        ),
      );
    this.#isStarted = true;
  }

  /** Returns why the agent is not ready. Undefined if it is. */
  notReadyReason(): string | undefined {
    if (!this.#isStarted) return "The agent has not started. Another agent may still serve this node.";
    const watches = Object.values(this.#watches);
    if (watches.some(({ hasSynced }) => !hasSynced)) return "The cluster's state has not been read yet.";
    const taken = this.#ownershipConflict();
    if (taken !== undefined) return taken;
    const isSilent = watches.every(({ silentForMs }) => (silentForMs ?? 0) > silenceMs);
    return isSilent ? "The API server has not responded for five minutes." : undefined;
  }

  /**
   * Shuts down gracefully. Unfinished work is resumed at the next start. Does nothing before the agent has
   * started.
   */
  async stop(): Promise<void> {
    if (!this.#isStarted) return;
    await this.#sessions.stop();
    this.#watcher.close();
    await Promise.all(
      [this.#cache, this.#reporter, this.#heartbeat, this.#probe, this.#checks, this.#remover].map((part) =>
        part.stop(),
      ),
    );
    await Promise.all(Object.values(this.#watches).map((reflector) => reflector.stop()));
    await this.#events.stop();
    this.#objectStore.close();
    await this.#lock?.release();
  }

  #createSessionController(): Controller {
    const {
      config: {
        node,
        sessionsNamespace: namespace,
        root,
        saveIntervalMs,
        objectStore: { bucket },
      },
      metrics,
      clock,
      random,
      logger,
    } = this.#deps;
    const { gameSessions, pods, gameNode } = this.#watches;
    const clients = this.#clients;
    const turns = new TransferTurns(passesAtOnce);
    const changes = [fromCache(gameSessions), fromCache(pods), this.#watcher];
    for (const source of changes) source.subscribe((key) => turns.interruptUpload(key));
    return new Controller({
      name: "gameSession",
      sources: [
        ...changes,
        fromDisk(namespace, () => this.#left),
        fromContent(this.#cache, gameSessions.cache),
        onceSynced(gameNode),
      ],
      reconcile: createSessionReconciler({
        node,
        root,
        cache: this.#cache,
        files: this.#files,
        readFailures: new ReadFailures(clock),
        watcher: this.#watcher,
        objectStore: this.#objectStore,
        bucket,
        turns,
        storedOutputs: new Set(),
        gameCaches: clients.gameCaches,
        gameNode: () => this.#gameNode(),
        events: this.#events,
        clock,
        random,
        gameSessions: { cache: gameSessions.cache, client: clients.gameSessions },
        pods: { cache: pods.cache, client: clients.pods },
        reporter: createSessionReporter(clients.gameSessions, clock),
        saveIntervalMs,
        onSaveStored: (outcome) => metrics.saveStored(outcome),
        onKept: (path, reason) => this.#onKept(path, reason),
      }),
      logger,
      workers: passesAtOnce,
      timeoutMs: passTimeoutMs,
      backOff: passBackOff,
      clock,
      random,
      metrics: metrics.kube.controller("gameSession"),
    });
  }

  /** Undefined also while another installation owns the node, which then needs no service and no report. */
  #gameNode() {
    return this.#ownershipConflict() === undefined
      ? this.#watches.gameNode.cache.get(this.#deps.config.node)
      : undefined;
  }

  /** Returns a message naming the other installation that owns the node. Undefined if none does. */
  #ownershipConflict(): string | undefined {
    const { node, installation } = this.#deps.config;
    const gameNode = this.#watches.gameNode.cache.get(node);
    return gameNode && ownershipConflict(gameNode, installation);
  }

  async #holdRoot(signal: AbortSignal): Promise<RootLock> {
    const {
      config: { root },
      onLockLost,
      logger,
    } = this.#deps;
    const { lock } = this.#paths;
    const onWait = (): void =>
      logger.warn({ lock }, "Another agent serves this node's folder. This one waits until it ends.");
    try {
      return await holdRootLock({ path: lock, onLost: onLockLost, signal, onWait });
    } catch (error) {
      // The system call failed on the folder. Without the folder the agent exits here, before a check could
      // report it.
      throw systemErrorCode(error) === undefined
        ? error
        : new Error(describeUnwritableRoot(root, error), { cause: error });
    }
  }

  #onGameNodeChange(): void {
    this.#takeDesired();
    // Sends the first report immediately.
    if (!this.#reporter.hasReported || this.#gameNode()?.status?.heartbeat === undefined)
      this.#reporter.changed();
  }

  /**
   * Fills wait until the agent knows which versions are in use, because making room for a fill must not evict
   * those. A missing GameNode says nothing about wanted or pinned versions: somebody has deleted it, and the
   * operator creates it again.
   */
  #takeDesired(): void {
    const { gameSessions, pods, gameNode } = this.#watches;
    if (!gameSessions.hasSynced || !pods.hasSynced || !gameNode.hasSynced) return;
    if (gameNode.cache.get(this.#deps.config.node) !== undefined)
      this.#cache.setDesired(this.#gameNode()?.spec.desired ?? []);
  }

  #onObjectStoreChange(): void {
    const { isReachable } = this.#probe.state;
    this.#deps.metrics.objectStoreReachable(isReachable);
    this.#reporter.changed();
    if (!isReachable) return;
    // Saves that wait for the object store skip the rest of their back-off.
    const { sessionsNamespace: namespace } = this.#deps.config;
    for (const { metadata } of this.#watches.gameSessions.cache.list())
      this.#sessions.enqueue(`${namespace}/${metadata.name}`);
  }

  /** Records an event, because only an admin can recover a folder that was set aside. */
  #onKept(path: string, reason: Error): void {
    const { metrics, logger } = this.#deps;
    metrics.sessionKept();
    logger.error(
      { reason: reason.message, kept: path },
      "The files of a session cannot be read. They were set aside.",
    );
    this.#reporter.changed();
    const gameNode = this.#gameNode();
    if (gameNode === undefined) return;
    this.#events.record(gameNode, {
      type: "Warning",
      reason: gameNodeEventReasons.sessionSetAside,
      action: "Keep",
      note: `${reason.message} The files were set aside at ${path}.`.slice(0, 1024),
    });
  }
}
