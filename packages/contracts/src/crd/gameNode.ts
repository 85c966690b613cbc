import { z } from "zod";
import { limits } from "../limits.ts";
import {
  conditions,
  group,
  version,
  type Kind,
  type KindObject,
  type KindResource,
  resourceOf,
} from "./kind.ts";
import { ArchiveSource } from "./gameCache.ts";
import { byteCount, listMap, message, observedGeneration, sha256Hex, timestamp } from "./schema.ts";

export const DesiredContent = z.strictObject({
  digest: sha256Hex.describe("SHA-256 of the version."),
  source: ArchiveSource.describe("Archive that the node agent fetches."),
  priority: z
    .int()
    .min(-1000)
    .max(1000)
    .default(0)
    .describe("Priority of the version. Higher priorities are fetched first and evicted last."),
  pinned: z.boolean().default(false).describe("Whether the version is never evicted."),
  bytesPerSecond: z
    .int()
    .min(1024)
    .max(Number.MAX_SAFE_INTEGER)
    .optional()
    .describe("Rate limit of the download in bytes per second."),
  hold: z
    .boolean()
    .default(false)
    .describe(
      "Whether to keep the version if it is there, but not start a download, because other nodes are first or downloads are suspended.",
    ),
});
export type DesiredContent = z.infer<typeof DesiredContent>;

export const GameNodeSpec = z
  .strictObject({
    desired: listMap(z.array(DesiredContent).max(limits.node.cacheEntriesReported), "digest")
      .default([])
      .describe("Versions that the node should hold."),
  })
  .describe("Desired content of the node.");
export type GameNodeSpec = z.infer<typeof GameNodeSpec>;

export const CacheEntryState = z.enum(["Queued", "Downloading", "Ready", "Failed"]);
export type CacheEntryState = z.infer<typeof CacheEntryState>;

export const CacheEntry = z.strictObject({
  digest: sha256Hex.describe("SHA-256 of the version."),
  state: CacheEntryState.describe("State of the version on the node."),
  bytes: byteCount.describe("Size of the unpacked files in bytes."),
  progressPercent: z.int().min(0).max(100).optional().describe("Progress of the download in percent."),
  cachedAt: timestamp.optional().describe("Time at which the version was unpacked."),
  lastUsedAt: timestamp.optional().describe("Time at which a session last used the version."),
  inUse: z.boolean().describe("Whether a session or a pod on the node uses the version."),
  reason: message
    .optional()
    .describe("Reason of a failed download, including the archive entry if one was refused."),
});
export type CacheEntry = z.infer<typeof CacheEntry>;

const podResources = z.strictObject({
  cpuMillicores: z.int().min(0).describe("CPU in millicores."),
  memoryBytes: byteCount.describe("Memory in bytes."),
});

export const GameNodeStatus = z
  .strictObject({
    observedGeneration: observedGeneration.optional(),
    conditions: conditions.optional(),
    capacity: z
      .strictObject({
        slots: z
          .int()
          .min(0)
          .describe(
            "Number of session slots: the GPU resource that the node offers divided by what one session takes, or the configured number.",
          ),
        used: z
          .int()
          .min(0)
          .describe(
            "Number of slots taken by sessions that are placed and not finished. Updated within seconds.",
          ),
        schedulable: z
          .boolean()
          .describe(
            "Whether the node accepts sessions: node and agent are healthy, the node is not cordoned, and its checks pass.",
          ),
        unschedulable: z
          .strictObject({
            reason: z
              .string()
              .max(128)
              .describe("Reason of the Ready or Draining condition, or of the failed check."),
            message: message.describe("Human-readable explanation."),
          })
          .optional()
          .describe("Why the node accepts no sessions. Absent if it accepts them."),
        offered: podResources
          .optional()
          .describe(
            "Resources that all session pods together can request: the node's allocatable resources minus the requests of other pods.",
          ),
        overhead: podResources
          .optional()
          .describe("Resources that each session pod requests in addition to its game."),
      })
      .optional()
      .describe("Capacity of the node for sessions."),
    addresses: z
      .strictObject({
        internal: z.string().max(253).optional().describe("Internal address of the node."),
        external: z.string().max(253).optional().describe("External address of the node."),
        announced: z
          .array(z.string().max(253))
          .max(limits.announcedAddresses)
          .optional()
          .describe("Addresses that sessions announce to browsers, most likely first."),
      })
      .optional()
      .describe("Addresses of the node that a stream can use."),
    cache: z
      .strictObject({
        capacityBytes: byteCount.describe("Size limit of the cache in bytes."),
        freeBytes: byteCount.describe("Bytes left in the cache's limit and on the file system."),
        // Without a default the API server refuses the status that follows the last entry's end: applied, the
        // empty list is dropped.
        entries: listMap(z.array(CacheEntry).max(limits.node.cacheEntriesReported), "digest")
          .default([])
          .describe("Versions on the node."),
      })
      .optional()
      .describe("Games that the node holds unpacked."),
    heartbeat: z
      .strictObject({
        renewedAt: timestamp.describe(
          "Time at which the node agent last wrote this status. It writes the status only on changes and renews its Lease continuously.",
        ),
        agentVersion: z.string().max(64).describe("Version of the node agent."),
      })
      .optional()
      .describe("Last report of the node agent."),
  })
  .describe("Observed state of the node.");
export type GameNodeStatus = z.infer<typeof GameNodeStatus>;

export type GameNode = KindObject<GameNodeSpec, GameNodeStatus>;

/** Conditions of a GameNode by writer. */
export const gameNodeConditions = {
  operator: [
    "Ready",
    "Draining",
    "Lost",
    "Filled",
    "GpuNotShared",
    "ArchitectureSupported",
    "PortsFree",
    "Reachable",
  ],
  nodeAgent: [
    "StoreReachable",
    "DiskPressure",
    "SessionsSetAside",
    "RootExecutable",
    "RootWritable",
    "SpaceLeft",
    "ClockInStep",
  ],
} as const;

/**
 * Checks that must pass before a node accepts sessions. A check that is `Unknown` or missing passes. If
 * several fail, the first one is reported, because a full disk, for example, is not writable either.
 */
export const gameNodeChecks = [
  "ArchitectureSupported",
  "SpaceLeft",
  "RootWritable",
  "RootExecutable",
  "ClockInStep",
  "PortsFree",
] as const;

export const gameNodeKind: Kind = {
  group,
  version,
  kind: "GameNode",
  plural: "gamenodes",
  singular: "gamenode",
  shortNames: ["gnode"],
  namespaced: false,
  description:
    "A Kubernetes node that runs games, with its session slots and the games that it holds unpacked.",
  spec: GameNodeSpec,
  status: GameNodeStatus,
  printerColumns: [
    { name: "Slots", type: "integer", jsonPath: ".status.capacity.slots", description: "Session slots." },
    { name: "Used", type: "integer", jsonPath: ".status.capacity.used", description: "Slots in use." },
    {
      name: "Schedulable",
      type: "boolean",
      jsonPath: ".status.capacity.schedulable",
      description: "Whether the node accepts sessions.",
    },
    {
      name: "Ready",
      type: "string",
      jsonPath: '.status.conditions[?(@.type=="Ready")].status',
      description: "Whether node and agent are healthy.",
    },
    {
      name: "Draining",
      type: "string",
      jsonPath: '.status.conditions[?(@.type=="Draining")].status',
      description: "Whether the node is no longer a game node but still has sessions or saves.",
    },
    {
      name: "Filled",
      type: "string",
      jsonPath: '.status.conditions[?(@.type=="Filled")].status',
      description: "False while a new node fetches its pinned games.",
      priority: 1,
    },
    {
      name: "GpuNotShared",
      type: "string",
      jsonPath: '.status.conditions[?(@.type=="GpuNotShared")].reason',
      description: "Whether both containers of a session can use the GPU, or what prevents it.",
      priority: 1,
    },
    {
      name: "Free",
      type: "integer",
      jsonPath: ".status.cache.freeBytes",
      description: "Bytes left for games.",
      priority: 1,
    },
    {
      name: "Installation",
      type: "string",
      jsonPath: ".metadata.labels.joypod\\.dev/installation",
      description: "Installation that the node belongs to. Empty for the unnamed installation.",
      priority: 1,
    },
    {
      name: "Reported",
      type: "date",
      jsonPath: ".status.heartbeat.renewedAt",
      description: "Time since the agent's last status change. Its heartbeat is a Lease.",
    },
    {
      name: "Age",
      type: "date",
      jsonPath: ".metadata.creationTimestamp",
      description: "Time since the node was first seen.",
    },
  ],
  selectableFields: [],
};

export const gameNodes: KindResource<GameNode> = resourceOf(gameNodeKind);
