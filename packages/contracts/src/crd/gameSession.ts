import { z } from "zod";
import {
  contentReasons,
  restoreReasons,
  type gameSessionEventReasons,
  type podReadyReasons,
  type AcceleratedReason,
  type ContentReason,
  type OwnFailureReason,
  type PodReadyReason,
  type ReadyReason,
  type RestoreReason,
  type ScheduledReason,
  type StreamReadyReason,
  type UnsetReason,
} from "./gameSessionReasons.ts";
import { GameSessionSpec, StopReason } from "./gameSessionSpec.ts";
import {
  conditions,
  group,
  version,
  type Kind,
  type KindObject,
  type KindResource,
  resourceOf,
} from "./kind.ts";
import {
  byteCount,
  listSet,
  message,
  nodeName,
  objectKey,
  objectName,
  reasonName,
  sha256Hex,
  timestamp,
} from "./schema.ts";

export const GameSessionPhase = z.enum([
  "Pending",
  "Preparing",
  "Starting",
  "Running",
  "Stopping",
  "Finished",
]);
export type GameSessionPhase = z.infer<typeof GameSessionPhase>;

/**
 * Conditions of a GameSession, in the order in which a session passes them; the second list is the node
 * agent's.
 */
export const gameSessionConditions = {
  operator: ["Scheduled", "PodReady", "StreamReady", "Ready", "Accelerated", "Finished"],
  nodeAgent: ["ContentReady", "SaveRestored", "SavePersisted"],
} as const;
export type OperatorConditionType = (typeof gameSessionConditions.operator)[number];
export type NodeAgentConditionType = (typeof gameSessionConditions.nodeAgent)[number];
export type GameSessionConditionType = OperatorConditionType | NodeAgentConditionType;

export const StoredSave = z.strictObject({
  objectKey,
  sha256: sha256Hex,
  bytes: byteCount,
  generation: z
    .int()
    .min(1)
    .describe("Version that the slot gets: one above the version the session started from."),
  sequence: z.int().min(1).describe("Counts the saves of this session upward."),
  persistedAt: timestamp,
  unpackedBytes: byteCount.optional().describe("What the save's files take in the save volume."),
  requestedAt: timestamp
    .optional()
    .describe(
      "The newest saveRequestedAt that this save, or an earlier one of the session, was made at or after.",
    ),
  final: z.boolean().describe("Stored after the game had ended: nothing newer will come."),
});
export type StoredSave = z.infer<typeof StoredSave>;

export const SessionUsage = z.strictObject({
  durationSeconds: z.number().min(0).describe("From Ready to the end."),
  cpuSeconds: z.number().min(0).describe("CPU time of the game container."),
  peakMemoryBytes: byteCount.describe("Highest memory of the game container."),
});
export type SessionUsage = z.infer<typeof SessionUsage>;

export const SessionStream = z
  .strictObject({
    renderer: z
      .string()
      .max(160)
      .describe("OpenGL's name of what renders; `software` where there was no GPU to look for."),
    encoder: z.string().max(64).describe("GStreamer's name of the video encoder."),
    codec: z
      .string()
      .max(16)
      .describe("Codec of a viewer that leaves the choice to the streamer, such as H264."),
    width: z.int().min(1).max(8192),
    height: z.int().min(1).max(8192),
    fps: z.int().min(1).max(240).describe("Frames a second at most."),
  })
  .describe("What the streamer found to make the stream, when the session became ready.");
export type SessionStream = z.infer<typeof SessionStream>;

export const GameSessionStatus = z
  .strictObject({
    observedGeneration: z.int().min(0).optional(),
    phase: GameSessionPhase.optional().describe("Summary for printing; programs read the conditions."),
    conditions: conditions.optional(),
    nodeName: nodeName.optional().describe("Game node that the session was placed on."),
    placement: z
      .strictObject({
        attempt: z.int().min(1).max(10),
        assignedAt: timestamp.describe("When the current node was chosen."),
        triedNodes: listSet(z.array(nodeName).max(10)).describe("Nodes given up."),
      })
      .optional(),
    podIp: z
      .string()
      .max(64)
      .optional()
      .describe(
        "Where the API sends WebRTC signalling: known as soon as the pod's streamer runs, which is before the session is ready.",
      ),
    podRef: z
      .strictObject({ name: objectName, uid: z.string().max(64) })
      .optional()
      .describe("The pod that became ready."),
    address: z
      .string()
      .max(253)
      .optional()
      .describe("Address of the node that the stream announces to browsers."),
    ports: z.strictObject({ media: z.int().min(1).max(65_535).describe("UDP port on the node.") }).optional(),
    stream: SessionStream.optional(),
    startedAt: timestamp.optional().describe("When the operator first saw the session."),
    readyAt: timestamp.optional(),
    stoppingAt: timestamp.optional().describe("When the end began."),
    finishedAt: timestamp.optional(),
    stopReason: StopReason.optional().describe("Why the session ended or is ending."),
    usage: SessionUsage.optional(),
    save: StoredSave.optional().describe("Newest save stored by this session."),
    failure: z
      .strictObject({ reason: reasonName, message })
      .optional()
      .describe("Set when the session ended by a fault."),
  })
  .describe("What was observed.");
export type GameSessionStatus = z.infer<typeof GameSessionStatus>;

export type GameSession = KindObject<GameSessionSpec, GameSessionStatus>;

export const gameSessionKind: Kind = {
  group,
  version,
  kind: "GameSession",
  plural: "gamesessions",
  singular: "gamesession",
  shortNames: ["gsess"],
  namespaced: true,
  description: "One player playing one game: placed on a game node, run as one pod, streamed to the browser.",
  spec: GameSessionSpec,
  status: GameSessionStatus,
  printerColumns: [
    {
      name: "Phase",
      type: "string",
      jsonPath: ".status.phase",
      description: "Where the session is in its life.",
    },
    { name: "Game", type: "string", jsonPath: ".spec.gameCacheRef.name", description: "Slug of the game." },
    { name: "Node", type: "string", jsonPath: ".status.nodeName", description: "Game node." },
    {
      name: "Ready",
      type: "string",
      jsonPath: '.status.conditions[?(@.type=="Ready")].status',
      description: "Whether the stream can be opened.",
    },
    {
      name: "Reason",
      type: "string",
      jsonPath: '.status.conditions[?(@.type=="Ready")].reason',
      description: "Why it is, or is not, ready.",
    },
    {
      name: "Ended",
      type: "string",
      jsonPath: ".status.stopReason",
      description: "Why it ended or is ending.",
    },
    {
      name: "Accelerated",
      type: "string",
      jsonPath: '.status.conditions[?(@.type=="Accelerated")].status',
      description: "Whether the GPU that it was to have renders it; empty without one.",
    },
    {
      name: "Renderer",
      type: "string",
      jsonPath: ".status.stream.renderer",
      description: "What renders.",
      priority: 1,
    },
    {
      name: "Encoder",
      type: "string",
      jsonPath: ".status.stream.encoder",
      description: "What encodes the video.",
      priority: 1,
    },
    { name: "User", type: "string", jsonPath: ".spec.userId", description: "Player.", priority: 1 },
    {
      name: "Port",
      type: "integer",
      jsonPath: ".status.ports.media",
      description: "UDP port of the stream on the node.",
      priority: 1,
    },
    {
      name: "Age",
      type: "date",
      jsonPath: ".metadata.creationTimestamp",
      description: "Time since the launch.",
    },
  ],
  selectableFields: [".spec.userId", ".spec.gameCacheRef.name", ".status.phase", ".status.nodeName"],
};

/**
 * Reasons with which a node cannot make a session ready, however long one waits: the archive or the save is
 * bad, or the node is full.
 */
export const terminalReasons = [
  contentReasons.archiveRefused,
  contentReasons.archiveIncomplete,
  contentReasons.insufficientSpace,
  restoreReasons.saveRefused,
  restoreReasons.saveMissing,
  restoreReasons.saveVolumeFull,
] as const;
export type TerminalReason = (typeof terminalReasons)[number];

/** Returns whether a reason of ContentReady or SaveRestored is one that waiting does not cure. */
export function isTerminalReason(reason: string | undefined): reason is TerminalReason {
  return terminalReasons.some((terminal) => terminal === reason);
}

const unreadableSaveReasons: readonly string[] = [
  restoreReasons.checksumMismatch,
  restoreReasons.saveMissing,
];

/**
 * Returns whether a reason of SaveRestored, or of the failure that came of it, is that the object store has
 * the save damaged or not at all.
 */
export function isUnreadableSaveReason(reason: string): boolean {
  return unreadableSaveReasons.includes(reason);
}

/** Reasons of `status.failure`. */
export type FailureReason =
  | OwnFailureReason
  | ScheduledReason
  | TerminalReason
  | typeof restoreReasons.checksumMismatch;

/** The reasons that the operator may give each of its conditions. */
export interface OperatorReasons extends Record<OperatorConditionType, string> {
  Scheduled: ScheduledReason | UnsetReason;
  PodReady: PodReadyReason | UnsetReason;
  StreamReady: StreamReadyReason | UnsetReason;
  Ready: ReadyReason | UnsetReason;
  Accelerated: AcceleratedReason | UnsetReason;
  Finished: FailureReason | StopReason | UnsetReason;
}

/** The reasons that the node agent may give each of its conditions. */
export interface NodeAgentReasons extends Record<NodeAgentConditionType, string> {
  ContentReady: ContentReason | UnsetReason;
  SaveRestored: RestoreReason | UnsetReason;
  /** One of `saveReasons`, or what the packer of another release says. */
  SavePersisted: string;
}

/** Reasons of the events that the operator records on a GameSession. */
export type GameSessionEventReason =
  | (typeof gameSessionEventReasons)[keyof typeof gameSessionEventReasons]
  | ScheduledReason
  | FailureReason
  | StopReason
  | ReadyReason
  | AcceleratedReason
  | typeof podReadyReasons.failedCreate;

/** Joypod's kinds, for the programs that read or write them. */
export const gameSessions: KindResource<GameSession> = {
  ...resourceOf(gameSessionKind),
  repeated: { spec: ["contentDigest"], status: ["nodeName", "address"] },
};
