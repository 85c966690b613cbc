import { z } from "zod";
import { limits } from "../limits.ts";
import { channelName } from "./gameChannels.ts";
import { isoMoment, opaqueId, paragraphs, requiredName, slug } from "./text.ts";

const { partner } = limits;

const versionId = "0f6b2c1e-8d4a-4c55-9f0e-3f1b7a9c2d10";

const archiveChecksum = z
  .string()
  .regex(/^sha256:[0-9a-f]{64}$/)
  .meta({ description: "SHA-256 of the archive.", examples: [`sha256:${"0f".repeat(32)}`] });

export const UploadResponse = z
  .object({
    status: z.literal("ok"),
    slug: z.string().meta({ examples: ["moonlight-drift"] }),
    size: z
      .int()
      .min(0)
      .meta({ description: "Bytes of the archive as sent.", examples: [73_400_320] }),
    checksum: archiveChecksum,
    versionId: z.string().meta({ description: "The version with this archive.", examples: [versionId] }),
    isCurrent: z.boolean().meta({
      description: "Whether it is what players get. Otherwise it waits to be activated.",
      examples: [true],
    }),
  })
  .meta({ id: "Upload", description: "The archive is stored as a version of the game." });
export type UploadResponse = z.infer<typeof UploadResponse>;

const versionTexts = {
  label: requiredName(partner.versionLabelMaxLength).meta({
    description: "The partner's name for the version, such as a release or a commit.",
    examples: ["1.4.2"],
  }),
  notes: paragraphs(partner.versionNotesMaxLength).meta({
    description: "The partner's notes. Players do not see them.",
    examples: ["Fixes the crash in level 3."],
  }),
};

/** Query of an upload. Without parameters the upload does what the game's `autoActivate` says. */
export const UploadQuery = z.strictObject({
  label: versionTexts.label.optional(),
  notes: versionTexts.notes.optional(),
  autoActivate: z
    .enum(["true", "false"])
    .transform((text) => text === "true")
    .optional()
    .meta({
      description: "Whether the upload becomes the current version at once. The default is the game's own.",
      examples: ["false"],
    }),
  channel: channelName.optional().meta({
    description:
      "The channel that leads to the upload from now on, instead of `default`. It is created if necessary.",
  }),
});
export type UploadQuery = z.infer<typeof UploadQuery>;

/** The verification of a version in short. Its report is in gameVerifications.ts. */
export const VersionVerification = z
  .object({
    state: z.enum(["waiting", "running", "done", "expired"]).meta({
      description:
        "`waiting` for a free game server, `running`, `done` with a verdict, or `expired` without one.",
      examples: ["done"],
    }),
    verdict: z
      .enum(["good", "bad"])
      .nullable()
      .meta({ description: "`bad` if any finding is an error. Null without a verdict.", examples: ["good"] }),
  })
  .meta({
    id: "VersionVerification",
    description: "How the platform got on when it played the version by itself.",
  });
export type VersionVerification = z.infer<typeof VersionVerification>;

export const GameVersion = z
  .object({
    id: z.string().meta({ examples: [versionId] }),
    label: z
      .string()
      .nullable()
      .meta({ examples: ["1.4.2"] }),
    notes: z.string().meta({ description: "May be empty.", examples: ["Fixes the crash in level 3."] }),
    checksum: archiveChecksum,
    size: z
      .int()
      .min(0)
      .meta({ description: "Bytes of the archive.", examples: [73_400_320] }),
    unpackedSize: z
      .int()
      .min(0)
      .meta({ description: "Bytes of its files.", examples: [180_355_072] }),
    uploadedAt: isoMoment,
    isCurrent: z.boolean().meta({ description: "Whether it is what players get." }),
    channels: z.array(channelName).meta({
      description: "The other channels that lead to it.",
      examples: [["beta"]],
    }),
    isStored: z
      .boolean()
      .meta({ description: "Whether its archive is kept, so that it can be activated.", examples: [true] }),
    activeSessions: z
      .int()
      .min(0)
      .meta({ description: "Sessions that play it now.", examples: [4] }),
    cachedOn: z
      .int()
      .min(0)
      .meta({ description: "Game servers that hold it and need no download.", examples: [2] }),
    verification: VersionVerification.nullable().meta({
      description: "Null if it was never verified.",
    }),
  })
  .meta({ id: "GameVersion", description: "An uploaded archive of a game." });
export type GameVersion = z.infer<typeof GameVersion>;

export const GameVersionsResponse = z
  .object({
    versions: z.array(GameVersion).max(partner.versionsListed),
    kept: z
      .int()
      .min(1)
      .meta({
        description: "How many of the newest archives are kept, in addition to those in use.",
        examples: [partner.versionsKept.default],
      }),
  })
  .meta({
    id: "GameVersions",
    description: `The newest ${partner.versionsListed} versions of a game, newest first.`,
  });
export type GameVersionsResponse = z.infer<typeof GameVersionsResponse>;

/** `PATCH …/versions/{gameVersionId}`. Omitted fields keep their value; null clears. */
export const PatchVersionRequest = z
  .strictObject({ label: versionTexts.label.nullish(), notes: versionTexts.notes.nullish() })
  .meta({
    id: "PatchVersionRequest",
    description: "The texts to change. Omitted ones keep their value; null clears one.",
  });
export type PatchVersionRequest = z.infer<typeof PatchVersionRequest>;

export const GameVersionParams = z.object({ slug, gameVersionId: opaqueId });
