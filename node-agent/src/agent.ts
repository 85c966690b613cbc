import type { GameNode } from "#contracts/crd/gameNode.ts";
import type { GameSession } from "#contracts/crd/gameSession.ts";
import { pods as podType, type Pod } from "#kube/builtin.ts";
import type { Clock } from "#runtime/clock.ts";
import { Controller } from "#kube/controller.ts";
import { EventRecorder, type EventSink } from "#kube/eventRecorder.ts";
import type { Logger } from "#runtime/logger.ts";
import type { Stored } from "#kube/object.ts";
import { Reflector } from "#kube/reflector.ts";
import { ResourceClient } from "#kube/resourceClient.ts";
import { fromCache, type Source } from "#kube/source.ts";
import { ObjectCache } from "#kube/cache.ts";
import type { KubeTransport } from "#kube/transport.ts";
import { ContentCache } from "./cache/contentCache.ts";
import { holdRootLock, type RootLock } from "./disk/rootLock.ts";
import { createKeptFolders } from "./disk/keptFolders.ts";
import { createTreeRemover } from "./disk/treeRemover.ts";
import { createObjectFiles } from "./cache/objectFiles.ts";
import { readDiskSpace } from "./cache/space.ts";
import type { Config } from "./config.ts";
import { contentInUse } from "./contentInUse.ts";
import type { Metrics } from "./metrics.ts";
import { nodePaths, type NodePaths } from "./paths.ts";
import { gameNodeEventReasons } from "#contracts/crd/reasons.ts";
import { gameCaches, gameNodes, gameSessions } from "#contracts/crd/resources.ts";
import { createSessionReconciler } from "./sessions/reconciler.ts";
import { createSessionReporter } from "./sessions/report.ts";
import { createSessionFiles } from "./sessions/sessionFiles.ts";
import { packFormerSaves } from "./spool/packFormerSaves.ts";
import { createSpoolWatcher } from "./spool/spoolWatcher.ts";
import { NodeReporter } from "./status/nodeReporter.ts";
import { createObjectStore } from "./store/objectStore.ts";
import { startStoreProbe } from "./store/storeProbe.ts";

export interface AgentDeps {
  config: Config;
  transport: KubeTransport;
  clock: Clock;
  random: () => number;
  logger: Logger;
  metrics: Metrics;
  /** Called when another process may have taken the root over: this one must end at once. */
  onLockLost: () => void;
  /** Ends a start that still waits. */
  signal: AbortSignal;
}

/** A running agent. */
export interface Agent {
  /** Why it is not ready; undefined when it is. */
  unready(): string | undefined;
  /** Ends all work in good order; what was half done is taken up at the next start. */
  stop(): Promise<void>;
}

/** Sessions that are prepared or stored at the same time. */
const workers = 8;
/** Time for one session's pass: a large save over a thin line takes minutes. */
const passTimeoutMs = 10 * 60_000;
/** The API server counts as lost when none of its watches was heard for this long. */
const silenceMs = 5 * 60_000;

/** Waits for its root to be its own, cleans up after a former process, then serves the node until it is stopped. */
export async function startAgent(deps: AgentDeps): Promise<Agent> {
  const { config, transport, clock, random, logger, metrics } = deps;
  const { node, sessionsNamespace: namespace, root, s3 } = config;
  const paths = nodePaths(root);
  const lock = await holdRoot(deps, paths);
  const store = createObjectStore(s3);
  const { clientOf, watched } = watchNode(deps);
  const gameNode = () => watched.gameNode.cache.get(node);

  const cache = new ContentCache({
    files: createObjectFiles(paths), store, budgetBytes: config.cacheBudgetBytes, readDiskSpace: () => readDiskSpace(root),
    inUse: () => contentInUse(watched.gameSessions.cache, watched.pods.cache, paths.objects), clock, random, logger, metrics,
  });
  await cache.load();
  const { remover, kept, files, left } = await openSessionFolders(deps, paths);
  const watcher = createSpoolWatcher(logger);
  const events = new EventRecorder({ transport, controller: "joypod.dev/node-agent", instance: node, logger, clock });

  const probe = startStoreProbe({ store, bucket: s3.bucket, clock, logger, onChange: () => onStoreChange() });
  const reporter = new NodeReporter({
    node, client: clientOf.gameNodes, cache, keptFolders: () => kept.count(), agentVersion: config.agentVersion, storeState: () => probe.state(), gameNode, clock, random, logger,
  });
  const sessions = new Controller({
    name: "gameSession",
    sources: [fromCache(watched.gameSessions), fromCache(watched.pods), leftOnDisk(namespace, left), watcher, fromContent(cache, watched.gameSessions)],
    reconcile: createSessionReconciler({
      node, root, cache, files, watcher, store, bucket: s3.bucket, packFormerSaves, gameCaches: clientOf.gameCaches, gameNode, events, clock, random,
      gameSessions: { cache: watched.gameSessions.cache, client: clientOf.gameSessions },
      pods: { cache: watched.pods.cache, client: clientOf.pods },
      reporter: createSessionReporter(clientOf.gameSessions, clock),
      saveIntervalMs: config.saveIntervalMs, onSaveStored: (outcome) => metrics.saveStored(outcome), onKept,
    }),
    logger, workers, timeoutMs: passTimeoutMs, backOff: { baseMs: 1_000, maxMs: 30_000 }, clock, random,
  });

  function onKept(path: string, reason: Error): void {
    tellKept(deps, events, gameNode(), { path, reason });
    reporter.changed();
  }

  function onStoreChange(): void {
    metrics.storeReachable(probe.state().isReachable);
    reporter.changed();
    // Saves that wait for the store need not sit out their back-off.
    if (probe.state().isReachable) for (const { metadata } of watched.gameSessions.cache.list()) sessions.enqueue(`${namespace}/${metadata.name}`);
  }

  watched.gameNode.cache.subscribe(() => {
    takeDesired();
    // The first heartbeat need not wait for the next turn.
    if (gameNode()?.status?.heartbeat === undefined) reporter.changed();
  });

  /** Fills wait until it is known what is in use: making room for them must not evict that. */
  function takeDesired(): void {
    if (watched.gameSessions.hasSynced && watched.pods.hasSynced) cache.setDesired(gameNode()?.spec.desired ?? []);
  }

  for (const reflector of Object.values(watched)) reflector.start();
  reporter.start();
  // Resolves when the watches have synced; rejects only when the agent is stopped before that.
  sessions.start().then(takeDesired).catch((error: unknown) => logger.debug({ err: error }, "The agent was stopped before it had read the cluster."));

  return {
    unready() {
      const behind = Object.values(watched).find((reflector) => !reflector.hasSynced);
      if (behind !== undefined) return "The state of the cluster has not been read yet.";
      const isSilent = Object.values(watched).every((reflector) => (reflector.silentForMs ?? 0) > silenceMs);
      return isSilent ? "The API server has not been heard for five minutes." : undefined;
    },
    async stop() {
      await sessions.stop();
      watcher.close();
      await Promise.all([cache.stop(), reporter.stop(), probe.stop(), remover.stop()]);
      await Promise.all(Object.values(watched).map((reflector) => reflector.stop()));
      await events.stop();
      store.close();
      await lock.release();
    },
  };
}

/** What was set aside is of use only to an admin who knows of it. */
function tellKept({ metrics, logger }: AgentDeps, events: EventSink, gameNode: Stored<GameNode> | undefined, { path, reason }: { path: string; reason: Error }): void {
  metrics.sessionKept();
  logger.error({ reason: reason.message, kept: path }, "What a session left on the node cannot be read, and is set aside.");
  if (gameNode === undefined) return;
  events.record(gameNode, { type: "Warning", reason: gameNodeEventReasons.sessionSetAside, action: "Keep", note: `${reason.message} It is set aside at ${path}.`.slice(0, 1024) });
}

function holdRoot({ onLockLost, signal, logger }: AgentDeps, { lock }: NodePaths): Promise<RootLock> {
  const onWait = (): void => logger.warn({ lock }, "Another agent serves this node's folder: this one waits for its end.");
  return holdRootLock({ path: lock, onLost: onLockLost, signal, onWait });
}

/** Opens the folders of sessions, and finds those that a former process left. */
async function openSessionFolders({ clock, random, logger }: AgentDeps, paths: NodePaths) {
  const remover = await createTreeRemover({ trash: paths.trash, clock, random, logger });
  const kept = await createKeptFolders(paths.keptSessions, remover);
  const files = createSessionFiles({ paths, remover, kept });
  return { remover, kept, files, left: await files.load() };
}

/** Clients of what the agent reads and writes, and the copies of what concerns its node: not started yet. */
function watchNode({ config: { node, sessionsNamespace: namespace }, transport, clock, random, logger }: AgentDeps) {
  const clientOf = {
    gameSessions: new ResourceClient(transport, gameSessions),
    gameCaches: new ResourceClient(transport, gameCaches),
    gameNodes: new ResourceClient(transport, gameNodes),
    pods: new ResourceClient(transport, podType),
  };
  const shared = { clock, random, logger };
  const watched = {
    gameSessions: new Reflector<GameSession>({
      client: clientOf.gameSessions, cache: new ObjectCache<GameSession>(), namespace, fieldSelector: `status.nodeName=${node}`, ...shared,
    }),
    pods: new Reflector<Pod>({ client: clientOf.pods, cache: new ObjectCache<Pod>(), namespace, fieldSelector: `spec.nodeName=${node}`, ...shared }),
    gameNode: new Reflector<GameNode>({ client: clientOf.gameNodes, cache: new ObjectCache<GameNode>(), fieldSelector: `metadata.name=${node}`, ...shared }),
  };
  return { clientOf, watched };
}

/** Folders that a former process left, whether or not their sessions still exist. */
function leftOnDisk(namespace: string, gameSessions: string[]): Source {
  return {
    waitForSync: () => Promise.resolve(),
    subscribe: () => () => undefined,
    keys: () => gameSessions.map((gameSession) => `${namespace}/${gameSession}`),
  };
}

/** A version that is ready or has failed concerns the sessions that wait for it. */
function fromContent(cache: ContentCache, watched: Reflector<GameSession>): Source {
  return {
    waitForSync: () => Promise.resolve(),
    subscribe: (enqueue) => cache.subscribe((digest, isProgress) => {
      if (isProgress) return;
      for (const { metadata, spec } of watched.cache.list()) if (spec.contentDigest === digest) enqueue(`${metadata.namespace ?? ""}/${metadata.name}`);
    }),
    keys: () => [],
  };
}
