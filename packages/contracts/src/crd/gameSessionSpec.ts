import { z } from "zod";
import { limits } from "../limits.ts";
import { stopReasons } from "./gameSessionReasons.ts";
import {
  ed25519PublicKey,
  immutable,
  objectKey,
  objectName,
  rootEntryName,
  sha256Hex,
  timestamp,
  withRules,
} from "./schema.ts";
import { StreamSpec } from "./streamSpec.ts";

const defaults = limits.gameSession;
const gameResources = limits.resources.declarable;

/** Why a session ends. */
export const StopReason = z.enum(stopReasons);
export type StopReason = z.infer<typeof StopReason>;

export const SaveSlotSpec = z
  .strictObject({
    slotId: z.string().min(1).max(64).describe("ID of the save slot in the API's database."),
    number: z.int().min(1).max(limits.saveSlotsPerGame).describe("Number of the slot, as players see it."),
    objectKey: objectKey
      .optional()
      .describe("Object key of the save to restore. Absent for a new playthrough."),
    sha256: sha256Hex.optional().describe("SHA-256 of the save to restore. Required with objectKey."),
    generation: z.int().min(0).describe("Version of the slot when the session started."),
  })
  .refine(
    (slot) => (slot.objectKey === undefined) === (slot.sha256 === undefined),
    "objectKey and sha256 go together",
  );

export const SessionResources = z
  .strictObject({
    cpuMillicores: z
      .int()
      .min(50)
      .max(gameResources.cpuMillicores.max)
      .describe("CPU request of the game container in millicores."),
    memoryBytes: z
      .int()
      .min(64 * 2 ** 20)
      .max(gameResources.memoryMb.max * 2 ** 20)
      .describe("Memory request of the game container in bytes."),
    memoryLimitBytes: z
      .int()
      .min(64 * 2 ** 20)
      .max(gameResources.memoryMb.max * 2 ** 20)
      .optional()
      .describe("Memory limit of the game in bytes. The game is killed above it. Defaults to memoryBytes."),
    gpuShare: z
      .int()
      .min(1)
      .max(gameResources.gpuShare.max)
      .default(1)
      .describe(
        "Number of capacity slots that the session takes. The session gets the configured GPU devices once per slot.",
      ),
  })
  .refine(
    ({ memoryBytes, memoryLimitBytes = memoryBytes }) => memoryLimitBytes >= memoryBytes,
    "memoryLimitBytes is not below memoryBytes",
  );

export type SessionResources = z.infer<typeof SessionResources>;

/** Returns whether the platform plays the session by itself. */
export function isVerification({ purpose }: { purpose?: "Verification" | undefined }): boolean {
  return purpose === "Verification";
}

/** Returns the memory limit of the session's game in bytes, without its save volume. */
export function memoryLimitOf({ memoryBytes, memoryLimitBytes }: SessionResources): number {
  return memoryLimitBytes ?? memoryBytes;
}

/** An end that an admin has announced. */
export const PlannedEnd = z
  .strictObject({
    at: timestamp.describe("Time at which the operator stops the session, by its clock."),
    reason: StopReason.extract(["deleted", "maintenance", "drained"]).describe(
      "Why: an admin ends the session, a maintenance, or a drain of its node.",
    ),
    message: z
      .string()
      .max(limits.maintenance.messageMaxLength)
      .optional()
      .describe("The admin's message to the player."),
  })
  .describe("An end that the player is told in advance. Without it the session continues.");
export type PlannedEnd = z.infer<typeof PlannedEnd>;

export const GameSessionSpec = withRules(
  z.strictObject({
    userId: immutable(
      z
        .string()
        .min(1)
        .max(63)
        .regex(/^[A-Za-z0-9]([A-Za-z0-9_-]*[A-Za-z0-9])?$/),
    ).describe("ID of the player that owns the session."),
    purpose: immutable(z.enum(["Verification"]))
      .optional()
      .describe(
        "Verification: the platform plays the version to observe it, without a player. Absent for players' sessions.",
      ),
    gameCacheRef: immutable(
      z.strictObject({ name: objectName.describe("Name of the GameCache, which is the game's slug.") }),
    ).describe("GameCache of the game."),
    contentDigest: immutable(sha256Hex).describe(
      "SHA-256 of the game's archive. Pins the version that is played.",
    ),
    launcher: immutable(rootEntryName).describe(
      "Name of the script in the archive's root that starts the game.",
    ),
    engineDir: immutable(rootEntryName).describe(
      "Name of the directory in the archive's root with the engine's files.",
    ),
    saveSlot: withRules(SaveSlotSpec, [
      { rule: "self == oldSelf", message: "is immutable" },
      { rule: "has(self.objectKey) == has(self.sha256)", message: "objectKey and sha256 go together" },
    ]).describe("Save slot that the session restores from and saves to."),
    profile: immutable(z.enum(["Gpu", "Software"]).default("Software")).describe(
      "Requested renderer: the node's GPU, or software. status.stream and the Accelerated condition show the actual one.",
    ),
    resources: withRules(SessionResources, [
      { rule: "self == oldSelf", message: "is immutable" },
      {
        rule: "!has(self.memoryLimitBytes) || self.memoryLimitBytes >= self.memoryBytes",
        message: "memoryLimitBytes is not below memoryBytes",
      },
    ]).describe("Resources of the game container."),
    saveVolumeBytes: immutable(
      z
        .int()
        .min(limits.save.volumeBytes.min)
        .max(2 * limits.save.volumeBytes.max)
        .default(limits.save.volumeBytes.default),
    ).describe("Size of the in-memory save volume in bytes. It is added to resources.memoryBytes."),
    network: immutable(z.enum(["None", "Internet"]).default("None")).describe(
      "Network access of the game. None forbids sockets. Internet allows public addresses if the operator is configured to allow it.",
    ),
    stream: immutable(StreamSpec).describe("Limits of the video stream, and the quality it starts with."),
    ticketPublicKey: immutable(ed25519PublicKey)
      .optional()
      .describe(
        "Ed25519 public key that the streamer verifies tickets with, as the x value of its JWK. Without a key, the streamer requires no tickets.",
      ),
    stopGraceSeconds: immutable(
      z
        .int()
        .min(defaults.stopGraceSeconds.min)
        .max(defaults.stopGraceSeconds.max)
        .default(defaults.stopGraceSeconds.default),
    ).describe("Seconds from SIGTERM to the game's processes until they are killed."),
    desiredState: withRules(z.enum(["Running", "Stopped"]).default("Running"), [
      { rule: "self == oldSelf || self == 'Stopped'", message: "a stopped session cannot run again" },
    ]).describe("Desired state. Stopped ends the session gracefully; it cannot be set back to Running."),
    stopReason: immutable(StopReason).optional().describe("Reason for setting desiredState to Stopped."),
    plannedEnd: PlannedEnd.optional(),
    expiresAt: withRules(timestamp, [{ rule: "self >= oldSelf", message: "only moves forward" }])
      .optional()
      .describe(
        "Expiry by the writer's clock; keepalives extend it. The operator stops a session that has been ready for idleTimeoutSeconds if this value is unchanged for 1.25 times as long.",
      ),
    saveRequestedAt: withRules(timestamp, [{ rule: "self >= oldSelf", message: "only moves forward" }])
      .optional()
      .describe(
        "Time of the player's latest request to save. The first save after it is stored immediately and reported with this time in status.save.requestedAt.",
      ),
    idleTimeoutSeconds: immutable(z.int().min(10).max(86_400).default(defaults.idleTimeoutSeconds)).describe(
      "Seconds without a keepalive after which the session is stopped.",
    ),
    startDeadlineSeconds: immutable(z.int().min(5).max(3600).default(defaults.startDeadlineSeconds)).describe(
      "Maximum seconds from when the operator first sees the session until it is ready.",
    ),
    downloadDeadlineSeconds: immutable(
      z.int().min(5).max(3600).default(defaults.downloadDeadlineSeconds),
    ).describe("Maximum seconds for the game's files to become available on one node."),
    maxDurationSeconds: immutable(
      z
        .int()
        .min(60)
        .max(7 * 86_400)
        .default(defaults.maxDurationSeconds),
    ).describe("Seconds from ready until the session is stopped."),
    ttlSecondsAfterFinished: immutable(
      z.int().min(0).max(86_400).default(defaults.ttlSecondsAfterFinished),
    ).describe("Seconds that the object is kept after the session has finished."),
  }),
  [
    { rule: "!has(oldSelf.stopReason) || has(self.stopReason)", message: "stopReason cannot be removed" },
    {
      rule: "has(oldSelf.ticketPublicKey) == has(self.ticketPublicKey)",
      message: "ticketPublicKey cannot be added or removed",
    },
    { rule: "has(oldSelf.purpose) == has(self.purpose)", message: "purpose cannot be added or removed" },
    { rule: "!has(oldSelf.expiresAt) || has(self.expiresAt)", message: "expiresAt cannot be removed" },
    {
      rule: "!has(oldSelf.saveRequestedAt) || has(self.saveRequestedAt)",
      message: "saveRequestedAt cannot be removed",
    },
  ],
).describe("Desired state of the session.");

export type GameSessionSpec = z.infer<typeof GameSessionSpec>;
