import { z } from "zod";
import {
  AuthSessionResponse,
  CredentialsForm,
  CsrfResponse,
  ProvidersResponse,
  RedirectResponse,
  SignOutForm,
  UpdateSessionForm,
  type AuthProvider,
  SignInMethodsResponse,
  type AuthSession,
} from "#contracts/http/auth.ts";
import { limits } from "#contracts/limits.ts";
import { callbackUrlOf } from "./callbackUrl.ts";
import { clearCookie, sessionCookieName } from "./cookies.ts";
import { findUser, runWithRenewal, userRouteFor } from "./requireUser.ts";
import {
  type AuthContext,
  type AuthDeps,
  csrfTokenFor,
  endAuthSession,
  signInByPassword,
} from "./browserSignIn.ts";
import { empty, json, redirect } from "../http/responses.ts";
import { publicRouteFor } from "../http/route.ts";
import { pictureOf } from "./userPicture.ts";
import { findUserById, type User } from "./userQueries.ts";
import { respondToForm, respondWithUrl, formRoute, jsonInstead, requireCsrf } from "./authResponse.ts";
import { isIssuer, type ProviderIssuer, withIssuers } from "./issuer.ts";
import { findSignInMethods } from "./identityQueries.ts";

const route = publicRouteFor<AuthDeps>();

const session = route({
  method: "GET",
  path: "/api/auth/session",
  name: "getAuthSession",
  summary: "Get the signed-in user",
  description: "Renews the session cookie. An invalid or expired cookie is cleared.",
  limits: ["authReads"],
  responses: { 200: json(AuthSessionResponse, undefined, { optionalHeaders: ["Set-Cookie"] }) },
  errors: ["unavailable"],
  handle: ({ ctx }) => runWithRenewal(ctx, () => respondWithSession(ctx)),
});

/** Not strict, like the forms, because pages add parameters of their own. */
const CallbackQuery = z.object({
  callbackUrl: z
    .string()
    .optional()
    .meta({ description: "The same as the form's field, which has precedence." }),
});
const toPage = redirect(
  "To the requested page. After a failure, to the sign-in page with the reason in `error`.",
  {
    optionalHeaders: ["Set-Cookie"],
  },
);

/**
 * Serves the Auth.js client's update. The data that it sends is ignored: the response comes from the
 * database.
 */
const updateSession = route({
  method: "POST",
  path: "/api/auth/session",
  name: "updateAuthSession",
  summary: "Refresh the session",
  description: "The Auth.js client's `update` calls this.",
  limits: ["authPosts"],
  body: UpdateSessionForm,
  bodyBytes: limits.auth.bodyBytes,
  responses: { 200: json(AuthSessionResponse, undefined, { optionalHeaders: ["Set-Cookie"] }) },
  errors: ["csrf", "unavailable"],
  handle: async ({ ctx, body }) => {
    requireCsrf(ctx, body);
    await runWithRenewal(ctx, () => respondWithSession(ctx));
  },
});

const csrf = route({
  method: "GET",
  path: "/api/auth/csrf",
  name: "getCsrfToken",
  summary: "Get a CSRF token",
  limits: ["authReads"],
  responses: { 200: json(CsrfResponse, undefined, { optionalHeaders: ["Set-Cookie"] }) },
  errors: [],
  handle: ({ ctx }) => {
    ctx.body = { csrfToken: csrfTokenFor(ctx) };
  },
});

const providers = route({
  method: "GET",
  path: "/api/auth/providers",
  name: "listAuthProviders",
  summary: "List sign-in providers",
  limits: ["authReads"],
  responses: { 200: ProvidersResponse },
  errors: [],
  handle: ({ ctx, deps: { config, oauthProviders } }) => {
    const ways = [
      { id: "credentials", name: "E-mail and password", type: "credentials" as const },
      ...oauthProviders.values(),
    ];
    ctx.body = presentAuthProviders(ways, config.baseUrl);
  },
});

const credentials = route({
  method: "POST",
  path: "/api/auth/callback/credentials",
  name: "signInWithCredentials",
  summary: "Sign in with e-mail and password",
  description: jsonInstead,
  ...formRoute,
  innerLimits: ["authPosts", "signInFailures"],
  query: CallbackQuery,
  body: CredentialsForm,
  responses: { 200: json(RedirectResponse, undefined, { headers: ["Set-Cookie"] }), 302: toPage },
  errors: ["invalid_credentials", "account_disabled", "unconfirmed", "csrf", "locked", "unavailable"],
  handle: async ({ ctx, deps, query, body: form }) => {
    await respondToForm(ctx, form, async (isJson) => {
      await signInByPassword(ctx, form);
      respondWithUrl(ctx, isJson, callbackUrlOf(form.callbackUrl ?? query.callbackUrl, deps.config));
    });
  },
});

const signOut = route({
  method: "POST",
  path: "/api/auth/signout",
  name: "signOut",
  summary: "Sign out",
  description: `Ends the sign-in. Copies of its cookie stop working. ${jsonInstead}`,
  ...formRoute,
  innerLimits: ["authPosts"],
  query: CallbackQuery,
  body: SignOutForm,
  responses: { 200: json(RedirectResponse, undefined, { headers: ["Set-Cookie"] }), 302: toPage },
  errors: ["csrf", "unavailable"],
  handle: async ({ ctx, deps, query, body: form }) => {
    await respondToForm(ctx, form, async (isJson) => {
      await endAuthSession(ctx);
      respondWithUrl(ctx, isJson, callbackUrlOf(form.callbackUrl ?? query.callbackUrl, deps.config));
    });
  },
});

/** Reports of a page's error logger are discarded. */
const clientLog = route({
  method: "POST",
  path: "/api/auth/_log",
  name: "logClientError",
  summary: "Accept a client-side error report",
  description: "The report is discarded. The route exists because the Auth.js client sends reports to it.",
  limits: ["authPosts"],
  responses: { 204: empty("Thank you.") },
  errors: [],
  handle: ({ ctx }) => {
    ctx.status = 204;
  },
});

async function respondWithSession(ctx: AuthContext): Promise<void> {
  const { config, postgres } = ctx.deps;
  const signedIn = await findUser(ctx);
  const user = signedIn === undefined ? undefined : await findUserById(postgres.prisma, signedIn.user.id);
  if (signedIn !== undefined && user === undefined) clearCookie(ctx, sessionCookieName(config));
  ctx.body =
    signedIn === undefined || user === undefined ? {} : presentAuthSession(user, signedIn.expiresAt, config);
}

export const authRoutes = [session, updateSession, csrf, providers, credentials, signOut, clientLog];

/** Returns the sign-in methods in the order and format of the Auth.js client. */
function presentAuthProviders(
  providers: Iterable<Pick<AuthProvider, "id" | "name" | "type">>,
  baseUrl: string,
): ProvidersResponse {
  const url = `${baseUrl}/api/auth`;
  return Object.fromEntries(
    [...providers].map(({ id, name, type }) => [
      id,
      {
        id,
        name,
        type,
        signinUrl: `${url}/signin/${id}`,
        callbackUrl: `${url}/callback/${id}`,
      },
    ]),
  );
}

/** Returns the sign-in methods of a user with identities at these issuers. */
function presentSignInMethods(
  { hasPassword, issuers }: { hasPassword: boolean; issuers: readonly string[] },
  providers: readonly ProviderIssuer[],
): SignInMethodsResponse {
  return {
    hasPassword,
    providers: providers.map(({ id, name, issuer }) => ({
      id,
      name,
      isLinked: issuer !== undefined && issuers.some((linked) => isIssuer(issuer, linked)),
    })),
  };
}

/** Returns the session for pages. */
function presentAuthSession(
  { id, name, email, image }: User,
  expiresAt: Date,
  config: Parameters<typeof pictureOf>[1],
): AuthSession {
  return { user: { id, name, email, image: pictureOf(image, config) }, expires: expiresAt.toISOString() };
}

const methods = userRouteFor<AuthDeps>()({
  method: "GET",
  path: "/api/auth/methods",
  name: "listSignInMethods",
  summary: "List the user's sign-in methods",
  description: "To link a provider, sign in there: `POST /api/auth/signin/:provider`.",
  limits: ["catalog"],
  responses: { 200: SignInMethodsResponse },
  errors: [],
  handle: async ({ ctx, deps: { postgres, oauthProviders }, user }) => {
    ctx.body = presentSignInMethods(
      await findSignInMethods(postgres.pool, user.id),
      await withIssuers(oauthProviders.values()),
    );
  },
});

export const authMethodRoutes = [methods];
