import type { GameCache } from "#contracts/crd/gameCache.ts";
import { cacheReadyReasons } from "#contracts/crd/gameCache.ts";
import type { Stored } from "#kube/api/object.ts";
import type { Clock } from "#runtime/scheduling/clock.ts";
import type { ClusterView } from "../../cluster/clusterView.ts";
import type { Postgres } from "../../stores/postgres.ts";
import { recordWebhookEvent } from "../../webhooks/eventQueries.ts";
import {
  updateVersionsDistributed,
  updateVersionsFailed,
  type Distribution,
  type DistributionFailure,
} from "./distributionQueries.ts";

/** Dependencies of announcing distributions. */
export interface AnnounceDistributionDeps {
  clock: Clock;
  postgres: Postgres;
  cluster: ClusterView;
}

/**
 * Interval between comparisons of all caches: a version may be activated again without any change of its
 * cache.
 */
const comparisonIntervalMs = 60_000;
const cachesPerTransaction = 200;

/**
 * Records the events of distributions: that every selected node holds a game's current version, or that some
 * could not fetch it. Looks at each GameCache after its changes, and at all at the start and once a minute.
 * The database remembers what was recorded since the last activation.
 */
export class DistributionAnnouncer {
  readonly #deps: AnnounceDistributionDeps;
  readonly #unsubscribe: () => void;
  readonly #changed = new Map<string, Stored<GameCache>>();
  #dueMs = 0;

  constructor(deps: AnnounceDistributionDeps) {
    this.#deps = deps;
    this.#unsubscribe = deps.cluster.gameCaches.cache.subscribe(({ object }) => {
      this.#changed.set(object.metadata.name, object);
    });
  }

  /** Looks at the caches that have changed, or at all when that is due. */
  async pass(): Promise<void> {
    const { cluster, clock } = this.#deps;
    const isDue = cluster.gameCaches.hasSynced && clock.monotonicMs() >= this.#dueMs;
    const caches = isDue ? cluster.gameCaches.cache.list() : [...this.#changed.values()];
    this.#changed.clear();
    for (let start = 0; start < caches.length; start += cachesPerTransaction)
      await this.#announce(caches.slice(start, start + cachesPerTransaction));
    // A failure leaves the rest to the next comparison.
    this.#dueMs = isDue ? clock.monotonicMs() + comparisonIntervalMs : this.#dueMs;
  }

  /** Stops watching the cluster. */
  stop(): void {
    this.#unsubscribe();
  }

  async #announce(caches: readonly Stored<GameCache>[]): Promise<void> {
    const distributed = caches.flatMap((cache) => distributionOf(cache) ?? []);
    const failed = caches.flatMap((cache) => distributionFailureOf(cache) ?? []);
    if (distributed.length === 0 && failed.length === 0) return;
    await this.#deps.postgres.transaction(async (transaction) => {
      for (const { gameId, gameVersionId, servers } of await updateVersionsDistributed(
        transaction,
        distributed,
      ))
        await recordWebhookEvent(transaction, gameId, {
          type: "version.distributed",
          data: { gameVersionId, servers },
        });
      for (const { gameId, gameVersionId, message } of await updateVersionsFailed(transaction, failed))
        await recordWebhookEvent(transaction, gameId, {
          type: "version.failed",
          data: { gameVersionId, stage: "distribution", reason: "nodes_failed", message },
        });
    });
  }
}

/** Returns the distribution of the cache's version if it is complete. */
function distributionOf({ spec, status, metadata }: Stored<GameCache>): Distribution | undefined {
  const ready = status?.conditions?.find(({ type }) => type === "Ready");
  const servers = status?.cachedNodes ?? 0;
  const isComplete =
    status?.observedGeneration === metadata.generation &&
    status?.currentDigest === spec.source.sha256 &&
    ready?.status === "True" &&
    ready.reason === cacheReadyReasons.allNodesCached &&
    servers > 0;
  return isComplete ? { objectKey: spec.source.key, servers } : undefined;
}

/** Returns the failure of the cache's distribution; undefined while nodes still fetch it. */
function distributionFailureOf({
  spec,
  status,
  metadata,
}: Stored<GameCache>): DistributionFailure | undefined {
  const stalled = status?.conditions?.find(({ type }) => type === "Stalled");
  if (
    stalled?.status !== "True" ||
    status?.observedGeneration !== metadata.generation ||
    status?.currentDigest !== spec.source.sha256
  )
    return undefined;
  const failed = (status.nodes ?? []).filter(({ state }) => state === "Failed");
  const why = failed.find(({ reason }) => reason !== undefined)?.reason ?? stalled.message;
  const message = `${failed.length} of ${status.totalNodes ?? failed.length} game servers could not fetch it: ${why}`;
  return { objectKey: spec.source.key, message };
}
