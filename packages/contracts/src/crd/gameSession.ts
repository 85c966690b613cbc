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
  observedGeneration,
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

/** Conditions of a GameSession by writer, in the order in which a session passes them. */
export const gameSessionConditions = {
  operator: ["Scheduled", "PodReady", "StreamReady", "Ready", "Accelerated", "Finished"],
  nodeAgent: ["ContentReady", "SaveRestored", "SavePersisted"],
} as const;
export type OperatorConditionType = (typeof gameSessionConditions.operator)[number];
export type NodeAgentConditionType = (typeof gameSessionConditions.nodeAgent)[number];
export type GameSessionConditionType = OperatorConditionType | NodeAgentConditionType;

export const StoredSave = z.strictObject({
  objectKey: objectKey.describe("Object key of the save."),
  sha256: sha256Hex.describe("SHA-256 of the stored archive."),
  bytes: byteCount.describe("Size of the stored archive in bytes."),
  generation: z
    .int()
    .min(1)
    .describe(
      "Version that the slot gets with this save: one above the version that the session started from.",
    ),
  sequence: z.int().min(1).describe("Number of this save within the session, starting at 1."),
  persistedAt: timestamp.describe("Time at which the save was stored."),
  unpackedBytes: byteCount.optional().describe("Size of the save's files in the save volume in bytes."),
  requestedAt: timestamp
    .optional()
    .describe("Latest spec.saveRequestedAt that this save, or an earlier save of the session, fulfils."),
  final: z.boolean().describe("Whether this is the session's last save, stored after the game ended."),
});
export type StoredSave = z.infer<typeof StoredSave>;

export const SessionUsage = z.strictObject({
  durationSeconds: z.number().min(0).describe("Seconds from ready to the end of the session."),
  cpuSeconds: z.number().min(0).describe("CPU time of the game container in seconds."),
  peakMemoryBytes: byteCount.describe("Peak memory of the game container in bytes."),
});
export type SessionUsage = z.infer<typeof SessionUsage>;

export const GameEnd = z
  .strictObject({
    endedBy: z
      .enum(["Itself", "CloseRequest", "Sigterm", "Sigkill"])
      .describe(
        "What ended the game's last process. After Sigkill, also at the memory limit, its last save may be incomplete.",
      ),
    hasOutlivedLauncher: z
      .boolean()
      .optional()
      .describe("Whether the launcher exited while the game was still running."),
    fullFolders: listSet(z.array(z.enum(["Home", "Tmp", "Shm"])).max(3))
      .optional()
      .describe("Folders that had no room left at some time: HOME, /tmp and /dev/shm."),
  })
  .describe("How the game ended, as reported by its supervisor. Absent without a report.");
export type GameEnd = z.infer<typeof GameEnd>;

export const SessionStream = z
  .strictObject({
    renderer: z
      .string()
      .max(160)
      .describe("Name of the OpenGL renderer, or `software` for sessions without a GPU."),
    encoder: z.string().max(64).describe("Name of the GStreamer video encoder."),
    codec: z
      .string()
      .max(16)
      .describe("Video codec for viewers that leave the choice to the streamer, for example H264."),
    width: z.int().min(1).max(8192).describe("Width of the video in pixels."),
    height: z.int().min(1).max(8192).describe("Height of the video in pixels."),
    fps: z.int().min(1).max(240).describe("Maximum frame rate."),
  })
  .describe("Renderer, encoder and format of the stream when the session became ready.");
export type SessionStream = z.infer<typeof SessionStream>;

export const StreamSummary = z
  .strictObject({
    firstPictureSeconds: z
      .number()
      .min(0)
      .optional()
      .describe("Seconds from the launch to the first picture."),
    viewedSeconds: z.number().min(0).describe("Seconds with a connected browser."),
    averageFps: z.number().min(0).max(1000).describe("Average frames per second."),
    averageKbps: z.number().min(0).max(10_000_000).describe("Average bitrate in kbit/s."),
    averageLoss: z.number().min(0).max(1).describe("Average share of lost packets."),
    width: z.int().min(1).max(8192).describe("Width of the last picture."),
    height: z.int().min(1).max(8192).describe("Height of the last picture."),
  })
  .describe("The stream while it was viewed, as its streamer reports.");
export type StreamSummary = z.infer<typeof StreamSummary>;

export const GameExit = z
  .strictObject({
    code: z.int().min(0).max(255).describe("Exit code of the game's launcher; 128 + N after signal N."),
    signal: z
      .string()
      .max(16)
      .optional()
      .describe("Name of the signal that the code stands for, for example SIGSEGV."),
  })
  .describe("How the game ended. Absent if it was asked to end or is unknown.");
export type GameExit = z.infer<typeof GameExit>;

export const GameSessionStatus = z
  .strictObject({
    observedGeneration: observedGeneration.optional(),
    phase: GameSessionPhase.optional().describe(
      "Summary for `kubectl get`. Programs should read the conditions.",
    ),
    conditions: conditions.optional(),
    nodeName: nodeName.optional().describe("Game node that the session is placed on."),
    placement: z
      .strictObject({
        attempt: z.int().min(1).max(10).describe("Number of nodes that were tried, including this one."),
        assignedAt: timestamp.describe("Time at which the current node was chosen."),
        triedNodes: listSet(z.array(nodeName).max(10)).describe("Nodes that were tried and given up."),
      })
      .optional()
      .describe("Placement attempts of the session."),
    podIp: z
      .string()
      .max(64)
      .optional()
      .describe(
        "IP address of the pod, to which the API forwards WebRTC signalling. Set when the streamer runs, before the session is ready.",
      ),
    podRef: z
      .strictObject({
        name: objectName.describe("Name of the pod."),
        uid: z.string().max(64).describe("UID of the pod."),
      })
      .optional()
      .describe("Pod of the session, set once it became ready."),
    address: z.string().max(253).optional().describe("Address of the node that is announced to browsers."),
    ports: z
      .strictObject({
        media: z.int().min(1).max(65_535).describe("UDP port of the media stream on the node."),
      })
      .optional()
      .describe("Ports of the session on the node."),
    stream: SessionStream.optional(),
    startedAt: timestamp.optional().describe("Time at which the operator first saw the session."),
    readyAt: timestamp.optional().describe("Time at which the session first became ready."),
    stoppingAt: timestamp.optional().describe("Time at which the session began to stop."),
    finishedAt: timestamp.optional().describe("Time at which the session finished."),
    stopReason: StopReason.optional().describe("Reason why the session ended or is ending."),
    idleEndsAt: timestamp
      .optional()
      .describe("Time at which the operator stops the session, unless there is input. Set shortly before."),
    gameEnd: GameEnd.optional(),
    usage: SessionUsage.optional().describe("Resource usage of the session, set when it has ended."),
    exit: GameExit.optional(),
    streamSummary: StreamSummary.optional(),
    save: StoredSave.optional().describe("Latest stored save of the session."),
    failure: z
      .strictObject({
        reason: reasonName.describe("Machine-readable reason in CamelCase."),
        message: message.describe("Human-readable explanation."),
      })
      .optional()
      .describe("Failure that ended the session. Absent if it ended normally."),
  })
  .describe("Observed state of the session.");
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
  description:
    "A player's session of a game: placed on a game node, run as one pod and streamed to the browser.",
  spec: GameSessionSpec,
  status: GameSessionStatus,
  printerColumns: [
    {
      name: "Phase",
      type: "string",
      jsonPath: ".status.phase",
      description: "Current phase.",
    },
    { name: "Game", type: "string", jsonPath: ".spec.gameCacheRef.name", description: "Slug of the game." },
    { name: "Node", type: "string", jsonPath: ".status.nodeName", description: "Game node." },
    {
      name: "Ready",
      type: "string",
      jsonPath: '.status.conditions[?(@.type=="Ready")].status',
      description: "Whether the game can be played.",
    },
    {
      name: "Reason",
      type: "string",
      jsonPath: '.status.conditions[?(@.type=="Ready")].reason',
      description: "Reason of the Ready condition.",
    },
    {
      name: "Ended",
      type: "string",
      jsonPath: ".status.stopReason",
      description: "Reason why the session ended or is ending.",
    },
    {
      name: "Accelerated",
      type: "string",
      jsonPath: '.status.conditions[?(@.type=="Accelerated")].status',
      description: "Whether the requested GPU renders the session. Empty for software sessions.",
    },
    {
      name: "Renderer",
      type: "string",
      jsonPath: ".status.stream.renderer",
      description: "OpenGL renderer.",
      priority: 1,
    },
    {
      name: "Encoder",
      type: "string",
      jsonPath: ".status.stream.encoder",
      description: "Video encoder.",
      priority: 1,
    },
    { name: "User", type: "string", jsonPath: ".spec.userId", description: "ID of the player.", priority: 1 },
    {
      name: "Port",
      type: "integer",
      jsonPath: ".status.ports.media",
      description: "UDP port of the media stream on the node.",
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
 * Reasons for which a node can never make a session ready: the archive or the save is invalid, or the node is
 * full.
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

/** Returns whether a reason of ContentReady or SaveRestored is permanent. */
export function isTerminalReason(reason: string | undefined): reason is TerminalReason {
  return terminalReasons.some((terminal) => terminal === reason);
}

const unreadableSaveReasons: readonly string[] = [
  restoreReasons.checksumMismatch,
  restoreReasons.saveMissing,
];

/**
 * Returns whether a reason of SaveRestored, or of a resulting failure, means that the stored save is damaged
 * or missing.
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

/** Reasons of each condition that the operator writes. */
export interface OperatorReasons extends Record<OperatorConditionType, string> {
  Scheduled: ScheduledReason | UnsetReason;
  PodReady: PodReadyReason | UnsetReason;
  StreamReady: StreamReadyReason | UnsetReason;
  Ready: ReadyReason | UnsetReason;
  Accelerated: AcceleratedReason | UnsetReason;
  Finished: FailureReason | StopReason | UnsetReason;
}

/** Reasons of each condition that the node agent writes. */
export interface NodeAgentReasons extends Record<NodeAgentConditionType, string> {
  ContentReady: ContentReason | UnsetReason;
  SaveRestored: RestoreReason | UnsetReason;
  /** One of `saveReasons`, or a reason from the packer of another release. */
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
