import { z } from "zod";
import { limits } from "../limits.ts";
import { isoMoment, requiredLine, requiredName } from "./text.ts";

const { passwordMinLength, passwordMaxLength, nameMaxLength, emailMaxLength, avatar, deletionDays } =
  limits.auth;

/** A NUL cannot be typed, and other programs treat it as the end of the text. */
const hasNoNul = [(text: string): boolean => !text.includes("\0"), "must not contain NUL"] as const;

const currentPassword = z
  .string()
  .max(passwordMaxLength)
  .refine(...hasNoNul)
  .optional()
  .meta({
    format: "password",
    description:
      "The account's password. Optional if the sign-in is less than 5 minutes old; a wrong password is always refused.",
  });

/** A password that the player chooses. */
export const newPassword = z
  .string()
  .min(passwordMinLength)
  .max(passwordMaxLength)
  .refine(...hasNoNul)
  .meta({
    format: "password",
    description: "Common passwords are refused.",
    examples: ["correct horse battery staple"],
  });

/** `PUT /api/account/password`. */
export const SetPasswordRequest = z
  .strictObject({ newPassword, currentPassword })
  .meta({ id: "SetPasswordRequest" });
export type SetPasswordRequest = z.infer<typeof SetPasswordRequest>;

/** `POST /api/account/providers/{provider}/unlink`. */
export const UnlinkRequest = z.strictObject({ currentPassword }).meta({ id: "UnlinkRequest" });
export type UnlinkRequest = z.infer<typeof UnlinkRequest>;

/** The number of sign-ins that a request ended. */
export const EndedSignInsResponse = z
  .object({
    endedSignIns: z
      .int()
      .min(0)
      .meta({ description: "Number of other sign-ins that were ended.", examples: [2] }),
  })
  .meta({
    id: "EndedSignIns",
    description: "This browser stays signed in with a new cookie. Copies of the old one stop working.",
  });
export type EndedSignInsResponse = z.infer<typeof EndedSignInsResponse>;

const signInId = z
  .string()
  .max(64)
  .regex(/^[0-9a-f]+$/);

export const SignIn = z
  .object({
    signInId: signInId.meta({ examples: ["0f".repeat(32)] }),
    isCurrent: z.boolean().meta({ description: "Whether this request used it." }),
    device: z
      .string()
      .nullable()
      .meta({
        description: "Browser and operating system, or null if unknown.",
        examples: ["Firefox on Linux"],
      }),
    network: z
      .string()
      .nullable()
      .meta({
        description:
          "The network it was last used from (the address without its last part), or null if unknown.",
        examples: ["192.0.2.0/24"],
      }),
    signedInAt: isoMoment.meta({ description: "When it began." }),
    lastUsedAt: isoMoment.meta({ description: "Accurate to a few minutes." }),
  })
  .meta({ id: "SignIn", description: "A sign-in of a browser." });
export type SignIn = z.infer<typeof SignIn>;

/** `GET /api/account/sign-ins`. */
export const SignInsResponse = z
  .object({
    signIns: z.array(SignIn).meta({
      description: `The sign-ins, most recently used first; at most ${limits.auth.signInsListed}.`,
    }),
  })
  .meta({ id: "SignIns", description: "The player's sign-ins." });
export type SignInsResponse = z.infer<typeof SignInsResponse>;

export const SignInParams = z.object({
  signInId: signInId.meta({ description: "From `GET /api/account/sign-ins`.", examples: ["0f".repeat(32)] }),
});

const accountName = requiredName(nameMaxLength).meta({
  description: "The name that others see.",
  examples: ["Ada"],
});

/** `GET /api/account`. */
export const AccountResponse = z
  .object({
    name: accountName,
    email: z.string().meta({ examples: ["ada@example.org"] }),
    picture: z.string().meta({ description: "Address of the picture, or empty.", examples: [""] }),
    hasOwnPicture: z.boolean().meta({ description: "Whether the player uploaded the picture." }),
    deleteAt: isoMoment.nullable().meta({
      description: "When the account is deleted, because the player asked for that; null otherwise.",
    }),
  })
  .meta({ id: "Account", description: "The player's account." });
export type AccountResponse = z.infer<typeof AccountResponse>;

/** `PUT /api/account/name`. */
export const SetNameRequest = z
  .strictObject({ name: accountName, currentPassword })
  .meta({ id: "SetNameRequest" });
export type SetNameRequest = z.infer<typeof SetNameRequest>;

/** `PUT /api/account/picture`. */
export const SetPictureRequest = z
  .strictObject({
    picture: z
      .base64()
      .max(Math.ceil(avatar.bytes / 3) * 4)
      .meta({
        description: `A PNG, JPEG, WebP or AVIF of at most ${avatar.bytes / 1024} KiB, as base64. Each side has ${avatar.sideMin} to ${avatar.sideMax} pixels.`,
        examples: ["iVBORw0KGgo="],
      }),
    currentPassword,
  })
  .meta({ id: "SetPictureRequest" });
export type SetPictureRequest = z.infer<typeof SetPictureRequest>;

/** `POST /api/account/email`. */
export const ChangeEmailRequest = z
  .strictObject({
    email: requiredLine(emailMaxLength).meta({
      description: "The new address. Case and surrounding whitespace are ignored.",
      examples: ["ada@example.com"],
    }),
    currentPassword,
  })
  .meta({ id: "ChangeEmailRequest" });
export type ChangeEmailRequest = z.infer<typeof ChangeEmailRequest>;

/** Requests that need nothing but proof of identity. */
export const ConfirmedRequest = z.strictObject({ currentPassword }).meta({ id: "ConfirmedRequest" });
export type ConfirmedRequest = z.infer<typeof ConfirmedRequest>;

/** `POST /api/account/delete`. */
export const DeletionResponse = z
  .object({ deleteAt: isoMoment.meta({ description: "When the account is deleted." }) })
  .meta({
    id: "Deletion",
    description: `The account is deleted after ${deletionDays} days, unless the player changes their mind.`,
  });
export type DeletionResponse = z.infer<typeof DeletionResponse>;

const exportedGame = z.string().meta({ description: "Slug of the game.", examples: ["moonlight-drift"] });

/** `POST /api/account/export`. */
export const AccountExport = z
  .object({
    exportedAt: isoMoment,
    account: z.object({
      id: z.string(),
      name: z.string(),
      email: z.string(),
      picture: z.string(),
      hasPassword: z.boolean(),
      emailVerifiedAt: isoMoment.nullable(),
      createdAt: isoMoment,
      streamQuality: z.unknown(),
    }),
    linkedAccounts: z.array(z.object({ issuer: z.string(), subject: z.string(), linkedAt: isoMoment })),
    signIns: z.array(
      z.object({
        device: z.string().nullable(),
        network: z.string().nullable(),
        signedInAt: isoMoment,
        lastUsedAt: isoMoment,
      }),
    ),
    favorites: z.array(z.object({ game: exportedGame, since: isoMoment })),
    saves: z.array(
      z.object({
        game: exportedGame,
        slotNumber: z.int(),
        label: z.string(),
        lastPlayedAt: isoMoment,
        download: z
          .string()
          .nullable()
          .meta({ description: "Where the slot's save can be downloaded; null without one." }),
      }),
    ),
    gameSessions: z.array(
      z.object({
        id: z.string(),
        game: exportedGame,
        startedAt: isoMoment,
        endedAt: isoMoment.nullable(),
        playSeconds: z.number().nullable(),
      }),
    ),
    events: z
      .array(
        z.object({ at: isoMoment, action: z.string(), network: z.string().nullable(), details: z.unknown() }),
      )
      .meta({ description: "The audit trail of the account." }),
  })
  .meta({
    id: "AccountExport",
    description: "All data of the account. Lists have at most 10000 entries, the newest ones.",
  });
export type AccountExport = z.infer<typeof AccountExport>;

export const AvatarParams = z.object({
  avatarId: z
    .string()
    .max(64)
    .regex(/^[0-9a-f-]+$/)
    .meta({ description: "From the picture's address.", examples: ["0f5b3c1e-8a51-4f0e-9a58-1a3a0b4d7c11"] }),
});
