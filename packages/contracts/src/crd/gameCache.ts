import { z } from "zod";
import {
  conditions,
  group,
  version,
  type Kind,
  type KindObject,
  type ValueOf,
  type KindResource,
  resourceOf,
} from "./kind.ts";
import {
  byteCount,
  listMap,
  message,
  nodeName,
  objectKey,
  observedGeneration,
  sha256Hex,
  timestamp,
  withRules,
} from "./schema.ts";

export const ArchiveSource = z.strictObject({
  bucket: z
    .string()
    .min(3)
    .max(63)
    .regex(/^[a-z0-9][a-z0-9.-]*[a-z0-9]$/)
    .describe("Bucket in the object store."),
  key: objectKey.describe("Object key of the archive."),
  sha256: sha256Hex.describe("SHA-256 of the archive, which identifies the version."),
  sizeBytes: byteCount.describe("Size of the archive in bytes."),
  unpackedSizeBytes: byteCount.describe("Size of the unpacked files in bytes."),
});
export type ArchiveSource = z.infer<typeof ArchiveSource>;

const Placement = withRules(
  z
    .strictObject({
      policy: z
        .enum(["All", "Count", "OnDemand"])
        .default("All")
        .describe(
          "Nodes that hold the game: all game nodes, a fixed number of them, or only nodes with a session that needs it.",
        ),
      count: z.int().min(1).max(1000).optional().describe("Number of nodes. Required with policy Count."),
      nodeSelector: z
        .record(z.string().max(317), z.string().max(63))
        .optional()
        .describe("Labels that a game node must have to hold the game."),
    })
    .refine(
      (placement) => (placement.policy === "Count") === (placement.count !== undefined),
      "count goes with policy Count",
    ),
  [{ rule: "(self.policy == 'Count') == has(self.count)", message: "count goes with policy Count" }],
);

export const GameCacheSpec = z
  .strictObject({
    source: ArchiveSource.describe("Archive in the object store. A change starts a new version."),
    previousSources: listMap(z.array(ArchiveSource).max(8), "sha256")
      .optional()
      .describe(
        "Other kept versions, newest first: running sessions may still use them, and the partner may go back to one.",
      ),
    placement: Placement.default({ policy: "All" }).describe("Game nodes that hold the game."),
    priority: z
      .int()
      .min(-1000)
      .max(1000)
      .default(0)
      .describe("Priority of the game. Games with a higher priority are fetched first and evicted last."),
    pinned: z
      .boolean()
      .default(false)
      .describe("Whether the game is never evicted from a node that holds it."),
    keepVersions: z
      .int()
      .min(1)
      .max(8)
      .default(1)
      .describe("Number of versions that a node keeps, including the current one."),
    rollout: z
      .strictObject({
        maxParallelNodes: z
          .int()
          .min(1)
          .max(1000)
          .default(2)
          .describe("Number of nodes that fetch a version at the same time."),
        bytesPerSecond: z
          .int()
          .min(1024)
          .max(Number.MAX_SAFE_INTEGER)
          .optional()
          .describe("Rate limit of a background download on one node, in bytes per second."),
      })
      .default({ maxParallelNodes: 2 })
      .describe("Limits of background downloads."),
    suspend: z
      .boolean()
      .default(false)
      .describe("Whether to start no more downloads. Downloads in progress continue."),
  })
  .describe("Desired state of the cache.");
export type GameCacheSpec = z.infer<typeof GameCacheSpec>;

export const GameCacheNodeState = z.enum(["Pending", "Downloading", "Cached", "Failed"]);
export type GameCacheNodeState = z.infer<typeof GameCacheNodeState>;

export const GameCacheStatus = z
  .strictObject({
    observedGeneration: observedGeneration.optional(),
    currentDigest: sha256Hex
      .optional()
      .describe("SHA-256 of the current version, which the node counts refer to."),
    totalNodes: z.int().min(0).optional().describe("Number of nodes that should hold the game."),
    cachedNodes: z.int().min(0).optional().describe("Number of nodes that hold the current version."),
    pendingNodes: z.int().min(0).optional().describe("Number of nodes that have yet to fetch it."),
    failedNodes: z.int().min(0).optional().describe("Number of nodes that could not fetch it."),
    nodes: listMap(
      z
        .array(
          z.strictObject({
            nodeName: nodeName.describe("Name of the game node."),
            state: GameCacheNodeState.describe("State of the version on the node."),
            digest: sha256Hex.describe("SHA-256 of the version."),
            cachedAt: timestamp.optional().describe("Time at which the version was unpacked."),
            progressPercent: z
              .int()
              .min(0)
              .max(100)
              .optional()
              .describe("Progress of the download in percent."),
            reason: message.optional().describe("Reason of a failed download."),
          }),
        )
        .max(1000),
      "nodeName",
    )
      .optional()
      .describe("State of the game on each node."),
    conditions: conditions.optional(),
  })
  .describe("Observed state of the cache.");
export type GameCacheStatus = z.infer<typeof GameCacheStatus>;

export type GameCache = KindObject<GameCacheSpec, GameCacheStatus>;

/**
 * Conditions of a GameCache, all written by the operator. kstatus reads Stalled to distinguish a failure from
 * work in progress.
 */
export type GameCacheConditionType = "Ready" | "Progressing" | "Stalled";

export const gameCacheKind: Kind = {
  group,
  version,
  kind: "GameCache",
  plural: "gamecaches",
  singular: "gamecache",
  shortNames: ["gcache"],
  namespaced: true,
  description: "The archive of a game and the game nodes that hold it unpacked.",
  spec: GameCacheSpec,
  status: GameCacheStatus,
  printerColumns: [
    {
      name: "Policy",
      type: "string",
      jsonPath: ".spec.placement.policy",
      description: "Placement policy.",
    },
    {
      name: "Cached",
      type: "integer",
      jsonPath: ".status.cachedNodes",
      description: "Nodes that hold the current version.",
    },
    {
      name: "Total",
      type: "integer",
      jsonPath: ".status.totalNodes",
      description: "Nodes that should hold the game.",
    },
    {
      name: "Failed",
      type: "integer",
      jsonPath: ".status.failedNodes",
      description: "Nodes that could not fetch it.",
    },
    {
      name: "Ready",
      type: "string",
      jsonPath: '.status.conditions[?(@.type=="Ready")].status',
      description: "Whether all of these nodes hold it.",
    },
    {
      name: "Digest",
      type: "string",
      jsonPath: ".spec.source.sha256",
      description: "SHA-256 of the current version.",
      priority: 1,
    },
    {
      name: "Age",
      type: "date",
      jsonPath: ".metadata.creationTimestamp",
      description: "Time since the first upload.",
    },
  ],
  selectableFields: [".spec.source.sha256", ".spec.placement.policy"],
};

/** Reasons of the Ready condition of a GameCache, and of the event when it changes. */
export const cacheReadyReasons = {
  /** `True`, set by the operator: every selected node holds the current version. */
  allNodesCached: "AllNodesCached",
  /** `True`, set by the operator: the policy is OnDemand, and no node holds the game. */
  onDemand: "OnDemand",
  /** `False`, set by the operator: some nodes have yet to fetch the current version. */
  filling: "Filling",
  /** `False`, set by the operator: some nodes could not fetch it. */
  nodesFailed: "NodesFailed",
  /** `False`, set by the operator: no game node matches the placement. */
  noGameNodes: "NoGameNodes",
} as const;

/** Reasons of the Progressing condition of a GameCache. */
export const cacheProgressReasons = {
  /** `True`, set by the operator: nodes are fetching the current version, or wait to start. */
  filling: "Filling",
  /** `False`, set by the operator: `spec.suspend` is set. */
  suspended: "Suspended",
  /** `False`, set by the operator: some nodes could not fetch it. */
  nodesFailed: "NodesFailed",
  /** `False`, set by the operator: nothing is left to fetch. */
  settled: "Settled",
} as const;

/** Reasons of the Stalled condition of a GameCache, which tools that wait for objects read as a failure. */
export const cacheStalledReasons = {
  /**
   * `True`, set by the operator: some nodes could not fetch the current version, no other node is fetching
   * it, and `spec.suspend` is not set. The failed nodes retry automatically.
   */
  nodesFailed: "NodesFailed",
  /**
   * `False`, set by the operator: nodes hold the version, are fetching it or wait to start, or `spec.suspend`
   * is set.
   */
  noFailure: "NoFailure",
} as const;

export type CacheReadyReason = ValueOf<typeof cacheReadyReasons>;

export type CacheProgressReason = ValueOf<typeof cacheProgressReasons>;

export type CacheStalledReason = ValueOf<typeof cacheStalledReasons>;

export const gameCaches: KindResource<GameCache> = resourceOf(gameCacheKind);
