import { type GameCache, gameCaches } from "#contracts/crd/gameCache.ts";
import { type GameNode, gameNodes } from "#contracts/crd/gameNode.ts";
import { type GameSession, gameSessions } from "#contracts/crd/gameSession.ts";
import { gameNodeSelectorOf } from "#contracts/crd/installation.ts";
import type { Logger } from "#runtime/logger.ts";
import type { KubeMetrics } from "#kube/controllers/metrics.ts";
import { keyOfRef, type KubeObject, type Stored } from "#kube/api/object.ts";
import { Reflector } from "#kube/cache/reflector.ts";
import { ResourceClient } from "#kube/client/resourceClient.ts";
import { SessionLoads } from "./sessionLoads.ts";
import type { ResourceType } from "#kube/api/resourceType.ts";
import { ObjectCache } from "#kube/cache/cache.ts";
import type { KubeTransport } from "#kube/client/transport.ts";

/** Options of a cluster view. */
export interface ClusterViewOptions {
  transport: KubeTransport;
  sessionsNamespace: string;
  /** Name of the installation whose game nodes are followed. */
  installation: string;
  logger: Logger;
  metrics: KubeMetrics;
}

/** Local caches of the cluster's game sessions, game caches and game nodes. Reading them sends no request. */
export class ClusterView {
  readonly gameSessions: Reflector<GameSession>;
  readonly gameCaches: Reflector<GameCache>;
  readonly gameNodes: Reflector<GameNode>;
  /** What sessions take of the nodes. */
  readonly sessionLoads: SessionLoads;
  readonly #namespace: string;

  constructor({ transport, sessionsNamespace, installation, logger, metrics }: ClusterViewOptions) {
    this.#namespace = sessionsNamespace;
    const reflect = <T extends KubeObject>(type: ResourceType<T>, labelSelector?: string): Reflector<T> =>
      new Reflector<T>({
        client: new ResourceClient(transport, type),
        cache: new ObjectCache<T>({ logger }),
        namespace: type.namespaced ? sessionsNamespace : undefined,
        labelSelector,
        logger,
        metrics: metrics.reflector(type.plural),
      });
    this.gameSessions = reflect(gameSessions);
    this.gameCaches = reflect(gameCaches);
    this.gameNodes = reflect(gameNodes, gameNodeSelectorOf({ name: installation }));
    this.sessionLoads = new SessionLoads(this.gameSessions.cache);
  }

  /** Whether every cache has synced once. */
  get hasSynced(): boolean {
    return this.#reflectors().every((reflector) => reflector.hasSynced);
  }

  /** Starts watching. The caches are empty until the first lists arrive. */
  start(): void {
    for (const reflector of this.#reflectors()) reflector.start();
  }

  /** Resolves when all caches have synced. */
  async waitForSync(signal?: AbortSignal): Promise<void> {
    await Promise.all(this.#reflectors().map((reflector) => reflector.waitForSync(signal)));
  }

  /** Stops all watches. */
  async stop(): Promise<void> {
    await Promise.all(this.#reflectors().map((reflector) => reflector.stop()));
  }

  /** Returns the session's object; undefined if it does not exist or is not in the cache yet. */
  gameSession(id: string): Stored<GameSession> | undefined {
    return this.gameSessions.cache.get(keyOfRef({ namespace: this.#namespace, name: id }));
  }

  gameCache(slug: string): Stored<GameCache> | undefined {
    return this.gameCaches.cache.get(keyOfRef({ namespace: this.#namespace, name: slug }));
  }

  gameNode(name: string): Stored<GameNode> | undefined {
    return this.gameNodes.cache.get(name);
  }

  /**
   * Resolves as soon as `isReached` holds for the game session (undefined: it is gone) and returns true, or
   * false when `deadlineMs` have passed first. Looks once at the start and then at each change, so nothing is
   * polled.
   */
  async waitForGameSession(
    id: string,
    isReached: (gameSession: Stored<GameSession> | undefined) => boolean,
    deadlineMs: number,
  ): Promise<boolean> {
    if (isReached(this.gameSession(id))) return true;
    const reached = Promise.withResolvers<boolean>();
    const unsubscribe = this.gameSessions.cache.subscribe(({ object }) => {
      if (object.metadata.name === id && isReached(this.gameSession(id))) reached.resolve(true);
    });
    const timer = setTimeout(() => reached.resolve(false), deadlineMs);
    try {
      return await reached.promise;
    } finally {
      clearTimeout(timer);
      unsubscribe();
    }
  }

  #reflectors(): readonly [Reflector<GameSession>, Reflector<GameCache>, Reflector<GameNode>] {
    return [this.gameSessions, this.gameCaches, this.gameNodes];
  }
}
