import { z } from "zod";
import { limits } from "../limits.ts";
import { codecEncodingNames } from "../videoCodec.ts";
import { pictureRanges, qualityPresets, type QualityPreset } from "../streamQuality.ts";
import { conditions } from "./condition.ts";
import { group, version, type Kind, type KindObject } from "./kind.ts";
import { stopReasons } from "./reasons.ts";
import {
  byteCount,
  ed25519PublicKey,
  immutable,
  listSet,
  message,
  nodeName,
  objectKey,
  objectName,
  reasonName,
  rootEntryName,
  sha256Hex,
  timestamp,
  withRules,
} from "./schema.ts";

const defaults = limits.gameSession;
const gameResources = limits.resources.declarable;

/** Codecs as the cluster writes them, which is by their names in SDP. */
export const StreamCodec = z.enum(codecEncodingNames);
export type StreamCodec = z.infer<typeof StreamCodec>;

/** The presets of the picture's quality as the cluster writes them. */
export const clusterPresetOf = {
  auto: "Auto",
  lowLatency: "LowLatency",
  sharp: "Sharp",
  dataSaver: "DataSaver",
} as const satisfies Record<QualityPreset, string>;
const StreamPreset = z.enum(clusterPresetOf);
type StreamPreset = z.infer<typeof StreamPreset>;
/** The same presets as all else writes them. */
export const presetOfCluster = Object.fromEntries(
  qualityPresets.map((preset) => [clusterPresetOf[preset], preset]),
) as Record<StreamPreset, QualityPreset>;

const { width, height, fps, kbps } = pictureRanges;

export const StreamQualitySpec = z.strictObject({
  preset: StreamPreset,
  width: z
    .int()
    .min(2)
    .max(width.max)
    .describe("Of the picture that is sent: the display's, or scaled down."),
  height: z.int().min(2).max(height.max),
  framesPerSecond: z.int().min(fps.min).max(fps.max),
  maxBitrateKbps: z.int().min(kbps.min).max(kbps.max),
  startBitrateKbps: z
    .int()
    .min(kbps.min)
    .max(kbps.max)
    .optional()
    .describe("Before the connection is known; absent for the operator's own."),
});

/** Why a session ends. */
export const StopReason = z.enum(stopReasons);
export type StopReason = z.infer<typeof StopReason>;

export const SaveSlotSpec = z
  .strictObject({
    slotId: z.string().min(1).max(64).describe("Id of the save slot in the catalogue."),
    number: z.int().min(1).max(limits.saveSlotsPerGame),
    objectKey: objectKey.optional().describe("Stored save to restore; absent for a new playthrough."),
    sha256: sha256Hex.optional().describe("SHA-256 of the stored save; required with objectKey."),
    generation: z.int().min(0).describe("Version of the slot that this session started from."),
  })
  .refine(
    (slot) => (slot.objectKey === undefined) === (slot.sha256 === undefined),
    "objectKey and sha256 go together",
  );

export const SessionResources = z
  .strictObject({
    cpuMillicores: z.int().min(50).max(gameResources.cpuMillicores.max),
    memoryBytes: z
      .int()
      .min(64 * 2 ** 20)
      .max(gameResources.memoryMb.max * 2 ** 20)
      .describe("Memory that the node keeps for the game."),
    memoryLimitBytes: z
      .int()
      .min(64 * 2 ** 20)
      .max(gameResources.memoryMb.max * 2 ** 20)
      .optional()
      .describe("Memory that the game is ended beyond; memoryBytes when absent."),
    gpuShare: z
      .int()
      .min(1)
      .max(gameResources.gpuShare.max)
      .default(1)
      .describe(
        "Capacity slots of a node that the session takes, and how many times the configured GPU devices it is given.",
      ),
  })
  .refine(
    ({ memoryBytes, memoryLimitBytes = memoryBytes }) => memoryLimitBytes >= memoryBytes,
    "memoryLimitBytes is not below memoryBytes",
  );
export type SessionResources = z.infer<typeof SessionResources>;

/** Returns the bytes beyond which the session's game is ended, without those of its save volume. */
export function memoryLimitOf({ memoryBytes, memoryLimitBytes }: SessionResources): number {
  return memoryLimitBytes ?? memoryBytes;
}

export const GameSessionSpec = withRules(
  z.strictObject({
    userId: immutable(
      z
        .string()
        .min(1)
        .max(63)
        .regex(/^[A-Za-z0-9]([A-Za-z0-9_-]*[A-Za-z0-9])?$/),
    ).describe("Player that the session belongs to."),
    gameCacheRef: immutable(z.strictObject({ name: objectName })).describe(
      "GameCache of the game; its name is the game's slug.",
    ),
    contentDigest: immutable(sha256Hex).describe("SHA-256 of the archive: pins the version that is played."),
    launcher: immutable(rootEntryName).describe("Script at the archive's root that starts the game."),
    engineDir: immutable(rootEntryName).describe("Directory of the engine's files at the archive's root."),
    saveSlot: withRules(SaveSlotSpec, [
      { rule: "self == oldSelf", message: "is immutable" },
      { rule: "has(self.objectKey) == has(self.sha256)", message: "objectKey and sha256 go together" },
    ]).describe("Slot whose save is restored and kept."),
    profile: immutable(z.enum(["Gpu", "Software"]).default("Software")).describe(
      "Whether it is to render on the node's GPU, or in software. What it does is in status.stream and condition Accelerated.",
    ),
    resources: withRules(SessionResources, [
      { rule: "self == oldSelf", message: "is immutable" },
      {
        rule: "!has(self.memoryLimitBytes) || self.memoryLimitBytes >= self.memoryBytes",
        message: "memoryLimitBytes is not below memoryBytes",
      },
    ]).describe("What the game container asks for."),
    saveVolumeBytes: immutable(
      z
        .int()
        .min(limits.save.volumeBytes.min)
        .max(2 * limits.save.volumeBytes.max)
        .default(limits.save.volumeBytes.default),
    ).describe(
      "Size of the volume in memory that the game keeps its saves in; comes on top of resources.memoryBytes.",
    ),
    network: immutable(z.enum(["None", "Internet"]).default("None")).describe(
      "Whether the game may open sockets: none at all, or to public addresses where the operator was told to allow it.",
    ),
    stream: immutable(
      z.strictObject({
        width: z
          .int()
          .min(width.min)
          .max(width.max)
          .describe("Of the game's display, which is the largest picture that can be sent."),
        height: z.int().min(height.min).max(height.max),
        framesPerSecond: z
          .int()
          .min(fps.min)
          .max(fps.max)
          .describe("Of the presets that have no rate of their own."),
        maxFramesPerSecond: z
          .int()
          .min(fps.min)
          .max(fps.max)
          .optional()
          .describe("The most that the player can choose; absent for framesPerSecond."),
        codecs: listSet(z.array(StreamCodec).min(1).max(4)).describe("In order of preference."),
        maxBitrateKbps: z.int().min(kbps.min).max(kbps.max).describe("The most that the player can choose."),
        quality: StreamQualitySpec.optional().describe(
          "What the stream begins with, until the player changes it; absent for the display's size and the figures above.",
        ),
      }),
    ).describe("Picture sent to the browser."),
    ticketPublicKey: immutable(ed25519PublicKey)
      .optional()
      .describe(
        "Ed25519 public key, as the x of its JWK, of the tickets that the session's streamer takes. Sessions of versions before tickets have none, and their streamers ask for none.",
      ),
    desiredState: withRules(z.enum(["Running", "Stopped"]).default("Running"), [
      { rule: "self == oldSelf || self == 'Stopped'", message: "a stopped session cannot run again" },
    ]).describe("Set to Stopped to end the session gracefully."),
    stopReason: immutable(StopReason).optional().describe("Why desiredState was set to Stopped."),
    expiresAt: withRules(timestamp, [{ rule: "self >= oldSelf", message: "only moves forward" }])
      .optional()
      .describe(
        "By the clock of whoever moves it while the player is heard of. The session is stopped as idle when the operator has not seen it move for a quarter longer than idleTimeoutSeconds, and was ready for idleTimeoutSeconds.",
      ),
    saveRequestedAt: withRules(timestamp, [{ rule: "self >= oldSelf", message: "only moves forward" }])
      .optional()
      .describe(
        "The player asked at this moment for what is played to be saved: the newest save from then on is stored at once, and says so by its requestedAt.",
      ),
    idleTimeoutSeconds: immutable(z.int().min(10).max(86_400).default(defaults.idleTimeoutSeconds)),
    startDeadlineSeconds: immutable(z.int().min(5).max(3600).default(defaults.startDeadlineSeconds)).describe(
      "From when the operator first saw the session to Ready.",
    ),
    downloadDeadlineSeconds: immutable(
      z.int().min(5).max(3600).default(defaults.downloadDeadlineSeconds),
    ).describe("For the game's files to be on one node."),
    maxDurationSeconds: immutable(
      z
        .int()
        .min(60)
        .max(7 * 86_400)
        .default(defaults.maxDurationSeconds),
    ).describe("From Ready to a forced stop."),
    ttlSecondsAfterFinished: immutable(
      z.int().min(0).max(86_400).default(defaults.ttlSecondsAfterFinished),
    ).describe("How long the finished object is kept."),
  }),
  [
    { rule: "!has(oldSelf.stopReason) || has(self.stopReason)", message: "stopReason cannot be removed" },
    {
      rule: "has(oldSelf.ticketPublicKey) == has(self.ticketPublicKey)",
      message: "ticketPublicKey cannot be added or removed",
    },
    { rule: "!has(oldSelf.expiresAt) || has(self.expiresAt)", message: "expiresAt cannot be removed" },
    {
      rule: "!has(oldSelf.saveRequestedAt) || has(self.saveRequestedAt)",
      message: "saveRequestedAt cannot be removed",
    },
  ],
).describe("What the session shall be.");
export type GameSessionSpec = z.infer<typeof GameSessionSpec>;

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
