import { z } from "zod";
import { isoMoment } from "./text.ts";

/** `GET /api/auth/session` of a signed-in user. All four user fields are always strings. */
export const AuthSession = z
  .object({
    user: z.object({
      id: z.string().meta({ examples: ["cm3qk1x2v0000"] }),
      name: z.string().meta({ examples: ["Ada"] }),
      email: z.string().meta({ examples: ["ada@example.org"] }),
      image: z.string().meta({ description: "Address of a picture, or empty.", examples: [""] }),
    }),
    expires: isoMoment.meta({ description: "When the cookie of this response expires." }),
  })
  .meta({ id: "AuthSession", description: "The signed-in user." });
export type AuthSession = z.infer<typeof AuthSession>;

/** `GET /api/auth/session` when nobody is signed in. */
export const NoAuthSession = z
  .strictObject({})
  .meta({ id: "NoAuthSession", description: "Nobody is signed in." });

export const AuthSessionResponse = z
  .union([AuthSession, NoAuthSession])
  .meta({ description: "The signed-in user, or an empty object." });
export type AuthSessionResponse = z.infer<typeof AuthSessionResponse>;

/**
 * Request header with the id of the player that the page shows. Optional. The response is 401 if another
 * player, or nobody, is signed in by now.
 */
export const playerHeader = "Joypod-Player";

export const CsrfResponse = z
  .object({
    csrfToken: z
      .string()
      .regex(/^[0-9a-f]{64}$/)
      .meta({ examples: ["0f".repeat(32)] }),
  })
  .meta({
    id: "CsrfToken",
    description: "The token for the forms of this browser. It is bound to a cookie in the same response.",
  });
export type CsrfResponse = z.infer<typeof CsrfResponse>;

export const AuthProvider = z
  .object({
    id: z.string().meta({ examples: ["credentials"] }),
    name: z.string().meta({ description: "Label for a button.", examples: ["E-mail and password"] }),
    type: z.enum(["credentials", "oauth", "oidc"]),
    signinUrl: z.url(),
    callbackUrl: z.url(),
  })
  .meta({ id: "AuthProvider", description: "A sign-in provider." });
export type AuthProvider = z.infer<typeof AuthProvider>;

/** `GET /api/auth/providers`, keyed by provider id. */
export const ProvidersResponse = z
  .record(z.string(), AuthProvider)
  .meta({ description: "The sign-in providers, by id." });
export type ProvidersResponse = z.infer<typeof ProvidersResponse>;

/** `GET /api/auth/methods`: how the signed-in user can sign in. */
export const SignInMethodsResponse = z
  .object({
    hasPassword: z.boolean().meta({ description: "Whether the account has a password." }),
    providers: z
      .array(
        z.object({
          id: z.string().meta({ examples: ["example"] }),
          name: z.string().meta({ description: "Label for a button.", examples: ["Example"] }),
          isLinked: z.boolean().meta({ description: "Whether an account at the provider is linked." }),
        }),
      )
      .meta({ description: "All external providers, in the order of the sign-in page." }),
  })
  .meta({ id: "SignInMethods", description: "The signed-in user's sign-in methods." });
export type SignInMethodsResponse = z.infer<typeof SignInMethodsResponse>;

/**
 * Fields of the sign-in, sign-out and update forms. Not strict, because the Auth.js client posts everything
 * its caller passes, such as `redirect`. Values are validated where they are used, so a bad password is a
 * failed sign-in and not a 400.
 */
const formFields = {
  csrfToken: z.string().optional().catch(undefined).meta({ description: "From `GET /api/auth/csrf`." }),
  callbackUrl: z
    .string()
    .optional()
    .catch(undefined)
    .meta({ description: "The page to return to. Addresses of other sites are replaced by the home page." }),
  /** `"true"` asks for JSON responses instead of redirects. */
  json: z
    .union([z.string(), z.boolean()])
    .optional()
    .catch(undefined)
    .meta({ description: '`"true"` asks for `{url}` instead of a redirect.' }),
};
export const SignOutForm = z
  .object(formFields)
  .meta({ id: "SignOutForm", description: "Other fields are ignored." });
export type SignOutForm = z.infer<typeof SignOutForm>;

/** Starts a sign-in at an external provider. */
export const ProviderForm = z
  .object({
    ...formFields,
    currentPassword: z.string().optional().catch(undefined).meta({
      format: "password",
      description:
        "The password of the signed-in player, to link the provider's account. Optional if the sign-in is less than 5 minutes old.",
    }),
  })
  .meta({ id: "ProviderForm", description: "Other fields are ignored." });
export type ProviderForm = z.infer<typeof ProviderForm>;

export const ProviderParams = z.object({
  provider: z
    .string()
    .regex(/^[a-z0-9][a-z0-9-]{0,31}$/)
    .meta({ description: "Id of the provider, from `GET /api/auth/providers`.", examples: ["example"] }),
});

export const CredentialsForm = z
  .object({
    ...formFields,
    email: z
      .string()
      .catch("")
      .meta({ description: "Case and surrounding whitespace are ignored.", examples: ["ada@example.org"] }),
    password: z.string().catch("").meta({ format: "password" }),
  })
  .meta({ id: "CredentialsForm", description: "Other fields are ignored." });
export type CredentialsForm = z.infer<typeof CredentialsForm>;

/** `POST /api/auth/session`. `data` is accepted and ignored, because clients cannot change the user. */
export const UpdateSessionForm = z
  .object({ csrfToken: formFields.csrfToken, data: z.unknown().optional() })
  .meta({ id: "UpdateSessionForm", description: "`data` is accepted and ignored." });
export type UpdateSessionForm = z.infer<typeof UpdateSessionForm>;

/** JSON response of sign-in and sign-out, always with an absolute address. */
export const RedirectResponse = z
  .object({
    url: z.url().meta({ examples: ["https://joypod.example/"] }),
  })
  .meta({ id: "Redirect", description: "The absolute address to continue at." });
export type RedirectResponse = z.infer<typeof RedirectResponse>;

/** Values of `error` in the query of the sign-in page. */
const signInErrors = [
  "CredentialsSignin",
  "MissingCSRF",
  "SessionRequired",
  "AccessDenied",
  "Configuration",
  "OAuthSignin",
  "OAuthCallback",
  "OAuthAccountNotLinked",
  "OAuthCreateAccount",
  "ReauthenticationRequired",
] as const;
export type SignInError = (typeof signInErrors)[number];

/** The message to the player for each error. */
export const signInErrorSentences: Readonly<Record<SignInError, string>> = {
  CredentialsSignin: "That e-mail and password do not match an account.",
  MissingCSRF: "That took too long. Please try again.",
  SessionRequired: "Please sign in to continue.",
  AccessDenied: "The sign-in was declined.",
  Configuration: "This sign-in method is not set up correctly. Please use another one.",
  OAuthSignin:
    "The provider is not available right now. Please try again in a moment, or sign in another way.",
  OAuthCallback: "The sign-in was not completed. Please try again.",
  OAuthAccountNotLinked:
    "An account with this e-mail address already exists. Please sign in the way you did before.",
  OAuthCreateAccount: "The provider did not confirm your e-mail address, so no account could be created.",
  ReauthenticationRequired: "Please sign in again before you link another account.",
};

/** The message to a player whose account is disabled, after the right password. */
export const accountDisabledSentence = "This account is disabled. Contact the operators of this site.";

/** The message to a player whose account is not confirmed yet. */
export const unconfirmedSentence =
  "Please confirm your e-mail address first: open the link in the mail that we sent you.";

/** Returns the message for the `error` and `code` in the sign-in page's address, including unknown values. */
export function sentenceForSignIn(error: string, code: string | null): string {
  if (code === "locked")
    return "Too many failed sign-ins. For your safety, this account is locked for a while. Try again later.";
  if (code === "account_disabled") return accountDisabledSentence;
  if (code === "unconfirmed") return unconfirmedSentence;
  if (code === "rate_limited") return "Too many attempts. Try again in a few minutes.";
  const known = signInErrors.find((name) => name === error);
  return known === undefined ? "The sign-in did not work. Please try again." : signInErrorSentences[known];
}
