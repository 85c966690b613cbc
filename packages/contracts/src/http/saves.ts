import { z } from "zod";
import { limits } from "../limits.ts";
import { isoMoment, line, opaqueId, slug } from "./text.ts";

/** Why a version of a save is kept, by its name in the database. See decision 17 for the meanings. */
export const saveVersionKinds = [
  "played",
  "conflict",
  "requested",
  "restored",
  "imported",
  "autosave",
] as const;
export const SaveVersionKind = z.enum(saveVersionKinds).meta({
  id: "SaveVersionKind",
  description:
    "`played` is the last save of a session, `conflict` one that arrived after the slot had been played elsewhere, `requested` was requested during play," +
    " `restored` is an earlier version that was restored, `imported` was uploaded or copied, `autosave` was stored before a session whose game had to be ended by force.",
});
export type SaveVersionKind = z.infer<typeof SaveVersionKind>;

/** The state of a slot. */
export const saveSlotStates = ["empty", "free", "playing", "storing"] as const;
export const SaveSlotState = z.enum(saveSlotStates).meta({
  id: "SaveSlotState",
  description:
    "`playing`: a session uses the slot. `storing`: the last save of an ended session is still being stored. Changes get 409 `slot_in_use` in both states.",
});
export type SaveSlotState = z.infer<typeof SaveSlotState>;

export const SaveVersion = z
  .object({
    id: z.string().meta({ examples: ["0f5b3c1e-8a51-4f0e-9a58-1a3a0b4d7c11"] }),
    savedAt: isoMoment.meta({ description: "When it was stored." }),
    bytes: z
      .int()
      .min(0)
      .meta({ description: "Size of its archive.", examples: [48_211] }),
    kind: SaveVersionKind,
    isCurrent: z.boolean().meta({ description: "Whether it is the slot's current save." }),
    isReadable: z.boolean().meta({
      description: "False if the save is missing or damaged. It cannot be restored or downloaded then.",
    }),
    mayBeIncomplete: z.boolean().optional().meta({
      description: "True if the game had to be ended by force, so it may not have finished this save.",
    }),
    playSeconds: z
      .number()
      .min(0)
      .optional()
      .meta({ description: "How long the slot had been played by then, in seconds.", examples: [5_430] }),
    pictureId: z
      .string()
      .optional()
      .meta({
        description:
          "If a picture of that moment was stored: its id for `GET /api/games/{slug}/saves/{slotId}/pictures/{pictureId}`.",
        examples: ["9b2f0c6d1e8a4b7795d3c1f0e2a4b6c8"],
      }),
  })
  .meta({ id: "SaveVersion", description: "A stored save." });
export type SaveVersion = z.infer<typeof SaveVersion>;

/**
 * One of a game's three slots with its history. `id`, `label` and `lastPlayedAt` are null together if the
 * slot is empty.
 */
export const SaveSlotHistory = z
  .object({
    id: z
      .string()
      .nullable()
      .meta({ description: "Null if the slot is empty.", examples: ["cm3qk1x2v0002"] }),
    slotNumber: z.int().min(1).max(limits.saveSlotsPerGame),
    label: z
      .string()
      .nullable()
      .meta({
        description: "The player's name for the slot, or the default name.",
        examples: ["Before the last boss"],
      }),
    lastPlayedAt: isoMoment.nullable(),
    playSeconds: z
      .number()
      .min(0)
      .optional()
      .meta({
        description: "How long the slot has been played, in seconds. Absent if the slot is empty.",
        examples: [5_430],
      }),
    state: SaveSlotState,
    versions: z.array(SaveVersion).meta({ description: "Newest first." }),
  })
  .meta({
    id: "SaveSlotHistory",
    description: "A save slot of a game with its stored saves.",
  });
export type SaveSlotHistory = z.infer<typeof SaveSlotHistory>;

export const SavesResponse = z
  .object({
    slots: z
      .array(SaveSlotHistory)
      .length(limits.saveSlotsPerGame)
      .meta({ description: "The player's slots, by number." }),
    saveBytesMax: z
      .int()
      .min(0)
      .meta({
        description: "Size limit of the unpacked files of a save of this game.",
        examples: [268_435_456],
      }),
  })
  .meta({ id: "Saves", description: "The player's saves of a game." });
export type SavesResponse = z.infer<typeof SavesResponse>;

export const SavesParams = z.object({ slug });
export const SaveSlotParams = z.object({ slug, slotId: opaqueId });
export const SavePictureParams = z.object({
  slug,
  slotId: opaqueId,
  pictureId: z
    .string()
    .regex(/^[0-9a-f]{32}$/, "must be the id of a picture")
    .meta({ examples: ["9b2f0c6d1e8a4b7795d3c1f0e2a4b6c8"] }),
});
export const SaveVersionParams = z.object({ slug, slotId: opaqueId, versionId: opaqueId });

export const RestoreSaveRequest = z.strictObject({ versionId: opaqueId }).meta({ id: "RestoreSaveRequest" });
export type RestoreSaveRequest = z.infer<typeof RestoreSaveRequest>;

/** The label is trimmed and in NFC. It may be empty. */
export const RenameSaveSlotRequest = z
  .strictObject({
    label: line(4 * limits.save.labelMaxLength)
      .normalize("NFC")
      .trim()
      .refine(
        (text) => Array.from(text).length <= limits.save.labelMaxLength,
        `must have at most ${limits.save.labelMaxLength} characters`,
      )
      .meta({
        description: `At most ${limits.save.labelMaxLength} characters. An empty label restores the default.`,
        examples: ["Before the last boss"],
      }),
  })
  .meta({ id: "RenameSaveSlotRequest" });
export type RenameSaveSlotRequest = z.infer<typeof RenameSaveSlotRequest>;

/** Response 202 of `POST /api/game/save`. */
export const SaveRequestedResponse = z.object({ status: z.literal("saving") }).meta({
  id: "SaveRequested",
  description:
    "The save was requested. It appears among the slot's versions as `requested` once it is stored.",
});
export type SaveRequestedResponse = z.infer<typeof SaveRequestedResponse>;
