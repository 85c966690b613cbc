import { z } from "zod";
import { limits } from "../limits.ts";
import { isoMoment } from "./text.ts";

const { passwordMinLength, passwordMaxLength } = limits.auth;

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
