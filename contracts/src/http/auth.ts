import { z } from "zod";

/** `GET /api/auth/session` of a signed-in user. All four user fields are always strings. */
export const AuthSession = z.object({
  user: z.object({ id: z.string(), name: z.string(), email: z.string(), image: z.string() }),
  expires: z.iso.datetime(),
});
export type AuthSession = z.infer<typeof AuthSession>;

/** The same when nobody is signed in. */
export const NoAuthSession = z.strictObject({});

export const AuthSessionResponse = z.union([AuthSession, NoAuthSession]);
export type AuthSessionResponse = z.infer<typeof AuthSessionResponse>;

export const CsrfResponse = z.object({ csrfToken: z.string() });
export type CsrfResponse = z.infer<typeof CsrfResponse>;

export const AuthProvider = z.object({
  id: z.string(),
  name: z.string(),
  type: z.enum(["credentials", "oauth", "oidc"]),
  signinUrl: z.url(),
  callbackUrl: z.url(),
});
/** `GET /api/auth/providers`, keyed by provider id. */
export const ProvidersResponse = z.record(z.string(), AuthProvider);
export type ProvidersResponse = z.infer<typeof ProvidersResponse>;

/**
 * Fields of the sign-in, sign-out and update forms. Not strict: the Auth.js client posts whatever its caller gave it,
 * such as `redirect`. Values are checked where they are used, so that a bad password is a failed sign-in and no 400.
 */
const formFields = {
  csrfToken: z.string().optional().catch(undefined),
  callbackUrl: z.string().optional().catch(undefined),
  /** `"true"` asks for JSON answers instead of redirects. */
  json: z.union([z.string(), z.boolean()]).optional().catch(undefined),
};
export const SignOutForm = z.object(formFields);
export type SignOutForm = z.infer<typeof SignOutForm>;

export const CredentialsForm = z.object({
  ...formFields,
  email: z.string().catch(""),
  password: z.string().catch(""),
});
export type CredentialsForm = z.infer<typeof CredentialsForm>;

/** `POST /api/auth/session`; `data` is accepted and ignored: a client cannot change who it is. */
export const UpdateSessionForm = z.object({ csrfToken: formFields.csrfToken, data: z.unknown().optional() });
export type UpdateSessionForm = z.infer<typeof UpdateSessionForm>;

/** JSON answer of sign-in and sign-out: an absolute address, always present. */
export const RedirectResponse = z.object({ url: z.url() });
export type RedirectResponse = z.infer<typeof RedirectResponse>;

/** `error` values in the query of the sign-in page. */
export const signInErrors = [
  "CredentialsSignin", "MissingCSRF", "SessionRequired", "AccessDenied", "Configuration", "OAuthSignin", "OAuthCallback",
  "OAuthAccountNotLinked", "OAuthCreateAccount",
] as const;
