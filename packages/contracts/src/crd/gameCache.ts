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
  sha256Hex,
  timestamp,
  withRules,
} from "./schema.ts";

export const ArchiveSource = z.strictObject({
  bucket: z
    .string()
    .min(3)
    .max(63)
    .regex(/^[a-z0-9][a-z0-9.-]*[a-z0-9]$/),
  key: objectKey,
  sha256: sha256Hex.describe("SHA-256 of the archive: the name of the version everywhere."),
  sizeBytes: byteCount,
  unpackedSizeBytes: byteCount,
});
export type ArchiveSource = z.infer<typeof ArchiveSource>;

const Placement = withRules(
  z
    .strictObject({
      policy: z
        .enum(["All", "Count", "OnDemand"])
        .default("All")
        .describe("Every game node, a number of them, or only where a session needs it."),
      count: z.int().min(1).max(1000).optional().describe("Number of nodes for policy Count."),
      nodeSelector: z
        .record(z.string().max(317), z.string().max(63))
        .optional()
        .describe("Labels that a game node must have to be filled."),
    })
    .refine(
      (placement) => (placement.policy === "Count") === (placement.count !== undefined),
      "count goes with policy Count",
    ),
  [{ rule: "(self.policy == 'Count') == has(self.count)", message: "count goes with policy Count" }],
);

export const GameCacheSpec = z
  .strictObject({
    source: ArchiveSource.describe("Archive in the object store; changing it makes a new version."),
    previousSources: listMap(z.array(ArchiveSource).max(8), "sha256")
      .optional()
      .describe("Older versions that running sessions may still need, newest first."),
    placement: Placement.default({ policy: "All" }),
    priority: z.int().min(-1000).max(1000).default(0).describe("Higher is filled first and evicted last."),
    pinned: z.boolean().default(false).describe("Never evict from a node that holds it."),
    keepVersions: z
      .int()
      .min(1)
      .max(8)
      .default(1)
      .describe("Versions kept on a node, the current one included."),
    rollout: z
      .strictObject({
        maxParallelNodes: z
          .int()
          .min(1)
          .max(1000)
          .default(2)
          .describe("Nodes that fetch a version at the same time."),
        bytesPerSecond: z
          .int()
          .min(1024)
          .max(Number.MAX_SAFE_INTEGER)
          .optional()
          .describe("Rate limit of a background fill on one node."),
      })
      .default({ maxParallelNodes: 2 }),
    suspend: z
      .boolean()
      .default(false)
      .describe("Begin no further fills; those under way end by themselves."),
  })
  .describe("Which archive, and where it shall be held ready.");
export type GameCacheSpec = z.infer<typeof GameCacheSpec>;

export const GameCacheNodeState = z.enum(["Pending", "Downloading", "Cached", "Failed"]);
export type GameCacheNodeState = z.infer<typeof GameCacheNodeState>;

export const GameCacheStatus = z
  .strictObject({
    observedGeneration: z.int().min(0).optional(),
    currentDigest: sha256Hex.optional().describe("Version that the counts below are about."),
    totalNodes: z.int().min(0).optional(),
    cachedNodes: z.int().min(0).optional(),
    pendingNodes: z.int().min(0).optional(),
    failedNodes: z.int().min(0).optional(),
    nodes: listMap(
      z
        .array(
          z.strictObject({
            nodeName,
            state: GameCacheNodeState,
            digest: sha256Hex,
            cachedAt: timestamp.optional(),
            progressPercent: z.int().min(0).max(100).optional(),
            reason: message.optional(),
          }),
        )
        .max(1000),
      "nodeName",
    ).optional(),
    conditions: conditions.optional(),
  })
  .describe("What was observed.");
export type GameCacheStatus = z.infer<typeof GameCacheStatus>;

export type GameCache = KindObject<GameCacheSpec, GameCacheStatus>;

/**
 * Conditions of a GameCache; the operator writes all of them. Stalled is the one by which kstatus tells a
 * failure from work that goes on.
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
  description: "One game's archive and the game nodes that hold it unpacked.",
  spec: GameCacheSpec,
  status: GameCacheStatus,
  printerColumns: [
    {
      name: "Policy",
      type: "string",
      jsonPath: ".spec.placement.policy",
      description: "Where the game shall be held.",
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
      description: "Nodes that shall hold it.",
    },
    {
      name: "Failed",
      type: "integer",
      jsonPath: ".status.failedNodes",
      description: "Nodes that could not get it.",
    },
    {
      name: "Ready",
      type: "string",
      jsonPath: '.status.conditions[?(@.type=="Ready")].status',
      description: "Whether every wanted node holds it.",
    },
    { name: "Digest", type: "string", jsonPath: ".spec.source.sha256", description: "Version.", priority: 1 },
    {
      name: "Age",
      type: "date",
      jsonPath: ".metadata.creationTimestamp",
      description: "Time since the first upload.",
    },
  ],
  selectableFields: [".spec.source.sha256", ".spec.placement.policy"],
};

/** Condition Ready of a GameCache, and the event when it changes. */
export const cacheReadyReasons = {
  /** `True`, by the operator: every wanted node holds the current version. */
  allNodesCached: "AllNodesCached",
  /** `True`, by the operator: the policy is OnDemand, and no node holds the game. */
  onDemand: "OnDemand",
  /** `False`, by the operator: some nodes have yet to fetch the current version. */
  filling: "Filling",
  /** `False`, by the operator: some nodes could not fetch it. */
  nodesFailed: "NodesFailed",
  /** `False`, by the operator: no game node matches the placement. */
  noGameNodes: "NoGameNodes",
} as const;

/** Condition Progressing of a GameCache. */
export const cacheProgressReasons = {
  /** `True`, by the operator: nodes fetch the current version, or wait for their turn. */
  filling: "Filling",
  /** `False`, by the operator: `spec.suspend` is set. */
  suspended: "Suspended",
  /** `False`, by the operator: some nodes could not fetch it. */
  nodesFailed: "NodesFailed",
  /** `False`, by the operator: there is nothing left to fetch. */
  settled: "Settled",
} as const;

/** Condition Stalled of a GameCache, which tools that wait for objects read as a failure. */
export const cacheStalledReasons = {
  /**
   * `True`, by the operator: some nodes could not fetch the current version, no other node fetches it, and
   * `spec.suspend` is not set. The failed ones try again by themselves.
   */
  nodesFailed: "NodesFailed",
  /**
   * `False`, by the operator: nodes hold the version, fetch it, or wait for their turn, or `spec.suspend` is
   * set.
   */
  noFailure: "NoFailure",
} as const;

export type CacheReadyReason = ValueOf<typeof cacheReadyReasons>;

export type CacheProgressReason = ValueOf<typeof cacheProgressReasons>;

export type CacheStalledReason = ValueOf<typeof cacheStalledReasons>;

export const gameCaches: KindResource<GameCache> = resourceOf(gameCacheKind);
