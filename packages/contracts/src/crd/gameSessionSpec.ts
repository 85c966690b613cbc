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
    stream: immutable(StreamSpec).describe("Picture sent to the browser."),
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
