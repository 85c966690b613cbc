import { z } from "zod";
import { limits } from "../limits.ts";
import { isoMoment, requiredLine, requiredName } from "./text.ts";
import { newPassword } from "./account.ts";

const { emailMaxLength, nameMaxLength, passwordMaxLength } = limits.auth;

export const SignUpMode = z.enum(["closed", "invite", "open"]);
export type SignUpMode = z.infer<typeof SignUpMode>;

/** `GET /api/auth/sign-up`. */
export const SignUpResponse = z
  .object({
    mode: SignUpMode.meta({
      description:
        "Who can open an account: `open` everybody, `invite` players with an invitation, `closed` nobody.",
      examples: ["invite"],
    }),
    sendsMail: z.boolean().meta({
      description: "Whether the site sends mail, so that players can reset their password on their own.",
    }),
  })
  .meta({ id: "SignUp", description: "How players get an account." });
export type SignUpResponse = z.infer<typeof SignUpResponse>;

const email = requiredLine(emailMaxLength).meta({
  description: "Case and surrounding whitespace are ignored.",
  examples: ["ada@example.org"],
});
const name = requiredName(nameMaxLength).meta({
  description: "The name that others see.",
  examples: ["Ada"],
});
const token = z
  .string()
  .regex(/^[A-Za-z0-9_-]{43}$/, "must be the text after # in the link")
  .meta({ description: "The text after `#` in the link.", examples: ["0".repeat(43)] });

/** `POST /api/auth/sign-up`. */
export const SignUpRequest = z
  .strictObject({ email, name, password: newPassword })
  .meta({ id: "SignUpRequest" });
export type SignUpRequest = z.infer<typeof SignUpRequest>;

/** `POST /api/auth/forgot-password`. */
export const ForgotPasswordRequest = z.strictObject({ email }).meta({ id: "ForgotPasswordRequest" });
export type ForgotPasswordRequest = z.infer<typeof ForgotPasswordRequest>;

/** `POST /api/auth/link`. */
export const AccountLinkRequest = z.strictObject({ token }).meta({ id: "AccountLinkRequest" });
export type AccountLinkRequest = z.infer<typeof AccountLinkRequest>;

export const AccountLinkPurpose = z.enum(["invitation", "password_reset", "confirmation", "email_change"]);
export type AccountLinkPurpose = z.infer<typeof AccountLinkPurpose>;

export const AccountLinkResponse = z
  .object({
    purpose: AccountLinkPurpose.meta({ description: "What the link is for.", examples: ["invitation"] }),
    email: z.string().meta({ description: "The address that it is for.", examples: ["ada@example.org"] }),
    expiresAt: isoMoment.meta({ description: "When it expires." }),
  })
  .meta({ id: "AccountLink", description: "A one-time link." });
export type AccountLinkResponse = z.infer<typeof AccountLinkResponse>;

/** `POST /api/auth/confirm-sign-up`. */
export const ConfirmSignUpRequest = z
  .strictObject({
    token,
    password: z
      .string()
      .max(passwordMaxLength)
      .meta({ format: "password", description: "The password that was chosen at the sign-up." }),
  })
  .meta({ id: "ConfirmSignUpRequest" });
export type ConfirmSignUpRequest = z.infer<typeof ConfirmSignUpRequest>;

/** `POST /api/auth/accept-invitation`. */
export const AcceptInvitationRequest = z
  .strictObject({ token, name, password: newPassword })
  .meta({ id: "AcceptInvitationRequest" });
export type AcceptInvitationRequest = z.infer<typeof AcceptInvitationRequest>;

/** `POST /api/auth/reset-password`. */
export const ResetPasswordRequest = z
  .strictObject({ token, newPassword })
  .meta({ id: "ResetPasswordRequest" });
export type ResetPasswordRequest = z.infer<typeof ResetPasswordRequest>;

/** `POST /api/auth/confirm-email`. */
export const ConfirmEmailRequest = z.strictObject({ token }).meta({ id: "ConfirmEmailRequest" });
export type ConfirmEmailRequest = z.infer<typeof ConfirmEmailRequest>;
