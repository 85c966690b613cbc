import { z } from "zod";
import { limits } from "../limits.ts";
import { isoMoment, line, opaqueId, slug } from "./text.ts";

/** Why a version of a save is kept, as the database names it; decision 17 says what each is. */
export const saveVersionKinds = ["played", "conflict", "requested", "restored", "imported"] as const;
export const SaveVersionKind = z.enum(saveVersionKinds).meta({
  id: "SaveVersionKind",
  description:
    "`played` is the last save of a session, `conflict` one that came when the slot had been played elsewhere, `requested` was asked for while playing," +
    " `restored` is an earlier version that was made the slot's save again, `imported` was uploaded or copied.",
});
export type SaveVersionKind = z.infer<typeof SaveVersionKind>;

/** What a slot is doing. */
export const saveSlotStates = ["empty", "free", "playing", "storing"] as const;
export const SaveSlotState = z.enum(saveSlotStates).meta({
  id: "SaveSlotState",
  description:
    "`playing`: a session goes on with it; `storing`: the last save of one that ended is on its way. Both refuse changes with 409 `slot_in_use`.",
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
    isCurrent: z.boolean().meta({ description: "Whether the slot goes on with it." }),
    isReadable: z.boolean().meta({
      description: "False when it was found missing or damaged: it can be neither restored nor downloaded.",
    }),
  })
  .meta({ id: "SaveVersion", description: "A save that is kept." });
export type SaveVersion = z.infer<typeof SaveVersion>;

/**
 * One of a game's three slots with its history; id, label and lastPlayedAt are null together, when it is
 * empty.
 */
export const SaveSlotHistory = z
  .object({
    id: z
      .string()
      .nullable()
      .meta({ description: "Null when the slot is empty.", examples: ["cm3qk1x2v0002"] }),
    slotNumber: z.int().min(1).max(limits.saveSlotsPerGame),
    label: z
      .string()
      .nullable()
      .meta({
        description: "The player's own name for it, or the first one.",
        examples: ["Before the last boss"],
      }),
    lastPlayedAt: isoMoment.nullable(),
    state: SaveSlotState,
    versions: z.array(SaveVersion).meta({ description: "The newest first." }),
  })
  .meta({
    id: "SaveSlotHistory",
    description: "One of a game's save slots with the saves that are kept of it.",
  });
export type SaveSlotHistory = z.infer<typeof SaveSlotHistory>;

export const SavesResponse = z
  .object({
    slots: z
      .array(SaveSlotHistory)
      .length(limits.saveSlotsPerGame)
      .meta({ description: "The asking player's slots, by number." }),
    saveBytesMax: z
      .int()
      .min(0)
      .meta({
        description: "What the files of a save of this game may take, unpacked.",
        examples: [268_435_456],
      }),
  })
  .meta({ id: "Saves", description: "The player's saves of a game." });
export type SavesResponse = z.infer<typeof SavesResponse>;

export const SavesParams = z.object({ slug });
export const SaveSlotParams = z.object({ slug, slotId: opaqueId });
export const SaveVersionParams = z.object({ slug, slotId: opaqueId, versionId: opaqueId });

export const RestoreSaveRequest = z.strictObject({ versionId: opaqueId }).meta({ id: "RestoreSaveRequest" });
export type RestoreSaveRequest = z.infer<typeof RestoreSaveRequest>;

/** The label comes trimmed and in NFC; it may be empty. */
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
        description: `At most ${limits.save.labelMaxLength} characters; an empty one gives the first label back.`,
        examples: ["Before the last boss"],
      }),
  })
  .meta({ id: "RenameSaveSlotRequest" });
export type RenameSaveSlotRequest = z.infer<typeof RenameSaveSlotRequest>;

/** Answer 202 of `POST /api/game/save`. */
export const SaveRequestedResponse = z.object({ status: z.literal("saving") }).meta({
  id: "SaveRequested",
  description:
    "The save is being made: it appears among the slot's versions, as `requested`, when it is stored.",
});
export type SaveRequestedResponse = z.infer<typeof SaveRequestedResponse>;
