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
import { byteCount, listMap, message, sha256Hex, timestamp } from "./schema.ts";

export const DesiredContent = z.strictObject({
  digest: sha256Hex,
  source: ArchiveSource.describe("Where the agent fetches it from."),
  priority: z.int().min(-1000).max(1000).default(0).describe("Higher is fetched first and evicted last."),
  pinned: z.boolean().default(false),
  bytesPerSecond: z.int().min(1024).max(Number.MAX_SAFE_INTEGER).optional(),
  hold: z
    .boolean()
    .default(false)
    .describe(
      "Keep it when it is there, but do not begin to fetch it yet: another node's turn, or the fill is suspended.",
    ),
});
export type DesiredContent = z.infer<typeof DesiredContent>;

export const GameNodeSpec = z
  .strictObject({
    desired: listMap(z.array(DesiredContent).max(limits.node.cacheEntriesReported), "digest")
      .default([])
      .describe("Versions that the node shall hold, by policy."),
  })
  .describe("What the node shall hold.");
export type GameNodeSpec = z.infer<typeof GameNodeSpec>;

export const CacheEntryState = z.enum(["Queued", "Downloading", "Ready", "Failed"]);
export type CacheEntryState = z.infer<typeof CacheEntryState>;

export const CacheEntry = z.strictObject({
  digest: sha256Hex,
  state: CacheEntryState,
  bytes: byteCount.describe("Unpacked size."),
  progressPercent: z.int().min(0).max(100).optional(),
  cachedAt: timestamp.optional(),
  lastUsedAt: timestamp.optional(),
  inUse: z.boolean().describe("A session or a pod on the node uses it."),
  reason: message.optional().describe("What went wrong, with the archive entry when one was refused."),
});
export type CacheEntry = z.infer<typeof CacheEntry>;

const podResources = z.strictObject({ cpuMillicores: z.int().min(0), memoryBytes: byteCount });

export const GameNodeStatus = z
  .strictObject({
    observedGeneration: z.int().min(0).optional(),
    conditions: conditions.optional(),
    capacity: z
      .strictObject({
        slots: z
          .int()
          .min(0)
          .describe(
            "Sessions that fit: what the node offers of the GPU resource by what one session takes, or the configured slots.",
          ),
        used: z
          .int()
          .min(0)
          .describe(
            "Slots of the sessions that are placed and not finished, as it was some seconds ago at most.",
          ),
        schedulable: z
          .boolean()
          .describe("Node and agent are healthy, the node is not cordoned, and its checks hold."),
        unschedulable: z
          .strictObject({
            reason: z.string().max(128).describe("Of condition Ready, Draining, or the check that failed."),
            message,
          })
          .optional()
          .describe("Why it takes no new sessions; left out where it does."),
        offered: podResources
          .optional()
          .describe(
            "What the pods of sessions may request in all: what is allocatable, less what other pods request.",
          ),
        overhead: podResources
          .optional()
          .describe("What a session's pod requests beside what its game asks for."),
      })
      .optional(),
    addresses: z
      .strictObject({
        internal: z.string().max(253).optional(),
        external: z.string().max(253).optional(),
        announced: z
          .array(z.string().max(253))
          .max(limits.announcedAddresses)
          .optional()
          .describe("All that sessions on the node are announced on, the most likely first."),
      })
      .optional()
      .describe("Addresses that a stream can be announced on."),
    cache: z
      .strictObject({
        capacityBytes: byteCount.describe("Byte budget of the cache."),
        freeBytes: byteCount.describe("Left in the budget and on the file system."),
        // Without a default the API server refuses the status that follows the last entry's end: applied, the
        // empty list is dropped.
        entries: listMap(z.array(CacheEntry).max(limits.node.cacheEntriesReported), "digest").default([]),
      })
      .optional(),
    heartbeat: z
      .strictObject({
        renewedAt: timestamp.describe(
          "When the node agent last wrote this status, which it does when something in it has changed. What it renews all the time is its Lease.",
        ),
        agentVersion: z.string().max(64),
      })
      .optional(),
  })
  .describe("What was observed.");
export type GameNodeStatus = z.infer<typeof GameNodeStatus>;

export type GameNode = KindObject<GameNodeSpec, GameNodeStatus>;

/** Conditions of a GameNode, Ready's first; the second list is the node agent's. */
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
 * Those that have to hold before a node takes sessions; `Unknown`, or not written by an agent of an earlier
 * release, is no obstacle. Where several fail, the first is told: a full disk cannot be written to either.
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
  description: "A Kubernetes node that runs games: its session slots and the games it holds unpacked.",
  spec: GameNodeSpec,
  status: GameNodeStatus,
  printerColumns: [
    { name: "Slots", type: "integer", jsonPath: ".status.capacity.slots", description: "Sessions that fit." },
    { name: "Used", type: "integer", jsonPath: ".status.capacity.used", description: "Sessions placed." },
    {
      name: "Schedulable",
      type: "boolean",
      jsonPath: ".status.capacity.schedulable",
      description: "Takes new sessions.",
    },
    {
      name: "Ready",
      type: "string",
      jsonPath: '.status.conditions[?(@.type=="Ready")].status',
      description: "Node and agent are healthy.",
    },
    {
      name: "Draining",
      type: "string",
      jsonPath: '.status.conditions[?(@.type=="Draining")].status',
      description: "No game node any more, with sessions or saves left.",
    },
    {
      name: "Filled",
      type: "string",
      jsonPath: '.status.conditions[?(@.type=="Filled")].status',
      description: "False while a new node gets its pinned games.",
      priority: 1,
    },
    {
      name: "GpuNotShared",
      type: "string",
      jsonPath: '.status.conditions[?(@.type=="GpuNotShared")].reason',
      description: "Whether both containers of a session reach the GPU, or what keeps one from it.",
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
      description: "Installation that it belongs to; empty for the one without a name.",
      priority: 1,
    },
    {
      name: "Reported",
      type: "date",
      jsonPath: ".status.heartbeat.renewedAt",
      description: "Time since the agent last had something to report; its heartbeat is a Lease.",
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
