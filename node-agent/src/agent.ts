import type { GameNode } from "#contracts/crd/gameNode.ts";
import type { GameSession } from "#contracts/crd/gameSession.ts";
import { pods as podType, type Pod } from "#kube/builtin.ts";
import type { Clock } from "#kube/clock.ts";
import { Controller } from "#kube/controller.ts";
import { EventRecorder } from "#kube/eventRecorder.ts";
import type { Logger } from "#kube/logger.ts";
import { Reflector } from "#kube/reflector.ts";
import { ResourceClient } from "#kube/resourceClient.ts";
import { fromCache, type Source } from "#kube/source.ts";
import { Store } from "#kube/store.ts";
import type { KubeTransport } from "#kube/transport.ts";
import { ContentCache } from "./cache/contentCache.ts";
import { createObjectFiles } from "./cache/objectFiles.ts";
import { readDiskSpace } from "./cache/space.ts";
import type { Config } from "./config.ts";
import { contentInUse } from "./contentInUse.ts";
import type { Metrics } from "./metrics.ts";
import { nodePaths } from "./paths.ts";
import { gameCaches, gameNodes, gameSessions } from "./resources.ts";
import { createSessionReconcile } from "./sessions/reconcileSession.ts";
import type { SessionRecord } from "./sessions/record.ts";
import { createSessionReporter } from "./sessions/report.ts";
import { createSessionFiles } from "./sessions/sessionFiles.ts";
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

/** Cleans up after a former process, then serves the node until it is stopped. */
export async function startAgent(deps: AgentDeps): Promise<Agent> {
  const { config, transport, clock, random, logger, metrics } = deps;
  const { node, sessionsNamespace: namespace, root, s3 } = config;
  const paths = nodePaths(root);
  const store = createObjectStore(s3);
  const { clientOf, watched } = watchNode(deps);
  const gameNode = () => watched.gameNode.store.get(node);

  const cache = new ContentCache({
    files: createObjectFiles(paths), store, budgetBytes: config.cacheBudgetBytes, readDiskSpace: () => readDiskSpace(root),
    inUse: () => contentInUse(watched.gameSessions.store, watched.pods.store, paths.objects), clock, random, logger, metrics,
  });
  await cache.load();
  const files = createSessionFiles(paths);
  const left = await files.load();
  const events = new EventRecorder({ transport, controller: "joypod.dev/node-agent", instance: node, logger, clock });

  const probe = startStoreProbe({ store, bucket: s3.bucket, clock, logger, onChange: () => onStoreChange() });
  const reporter = new NodeReporter({
    node, client: clientOf.gameNodes, cache, agentVersion: config.agentVersion, storeState: () => probe.state(), gameNode, clock, random, logger,
  });
  const sessions = new Controller({
    name: "gameSession",
    sources: [fromCache(watched.gameSessions), fromCache(watched.pods), leftOnDisk(left), fromContent(cache, watched.gameSessions)],
    reconcile: createSessionReconcile({
      node, root, cache, files, store, bucket: s3.bucket, gameCaches: clientOf.gameCaches, gameNode, events, clock, random,
      gameSessions: { store: watched.gameSessions.store, client: clientOf.gameSessions },
      pods: { store: watched.pods.store, client: clientOf.pods },
      reporter: createSessionReporter(clientOf.gameSessions, clock),
      saveIntervalMs: config.saveIntervalMs, onSaveStored: (outcome) => metrics.saveStored(outcome),
    }),
    logger, workers, timeoutMs: passTimeoutMs, backOff: { baseMs: 1_000, maxMs: 30_000 }, clock, random,
  });

  function onStoreChange(): void {
    metrics.storeReachable(probe.state().isReachable);
    reporter.changed();
    // Saves that wait for the store need not sit out their back-off.
    if (probe.state().isReachable) for (const { metadata } of watched.gameSessions.store.list()) sessions.enqueue(`${namespace}/${metadata.name}`);
  }

  watched.gameNode.store.subscribe(() => {
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
      await Promise.all([cache.stop(), reporter.stop(), probe.stop()]);
      await Promise.all(Object.values(watched).map((reflector) => reflector.stop()));
      await events.stop();
      store.close();
    },
  };
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
      client: clientOf.gameSessions, store: new Store<GameSession>(), namespace, fieldSelector: `status.nodeName=${node}`, ...shared,
    }),
    pods: new Reflector<Pod>({ client: clientOf.pods, store: new Store<Pod>(), namespace, fieldSelector: `spec.nodeName=${node}`, ...shared }),
    gameNode: new Reflector<GameNode>({ client: clientOf.gameNodes, store: new Store<GameNode>(), fieldSelector: `metadata.name=${node}`, ...shared }),
  };
  return { clientOf, watched };
}

/** Directories that a former process left, whether or not their sessions still exist. */
function leftOnDisk(records: SessionRecord[]): Source {
  return {
    waitForSync: () => Promise.resolve(),
    subscribe: () => () => undefined,
    keys: () => records.map(({ namespace, gameSession }) => `${namespace}/${gameSession}`),
  };
}

/** A version that is ready or has failed concerns the sessions that wait for it. */
function fromContent(cache: ContentCache, watched: Reflector<GameSession>): Source {
  return {
    waitForSync: () => Promise.resolve(),
    subscribe: (enqueue) => cache.subscribe((digest, isProgress) => {
      if (isProgress) return;
      for (const { metadata, spec } of watched.store.list()) if (spec.contentDigest === digest) enqueue(`${metadata.namespace ?? ""}/${metadata.name}`);
    }),
    keys: () => [],
  };
}
