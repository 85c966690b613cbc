import { z } from "zod";
import {
  AuthSessionResponse, CredentialsForm, CsrfResponse, ProvidersResponse, RedirectResponse, SignOutForm, UpdateSessionForm,
} from "#contracts/http/auth.ts";
import { limits } from "#contracts/limits.ts";
import { callbackUrlOf } from "../auth/callbackUrl.ts";
import { clearCookie, csrfCookieName, sessionCookieName, setCookie } from "../auth/cookies.ts";
import { authSessionIdOf } from "../auth/tokens.ts";
import { signIn } from "../commands/signIn.ts";
import type { Deps } from "../deps.ts";
import { findUser } from "../middleware/requireUser.ts";
import { presentAuthSession } from "../presenters/authSession.ts";
import type { AppContext } from "../routing/appContext.ts";
import { empty, json, redirect } from "../routing/answers.ts";
import { publicRoute } from "../routing/route.ts";
import { findUserById, type User } from "../stores/users.ts";
import { answerForm, answerUrl, limitPosts, requireCsrf } from "./authAnswer.ts";

const session = publicRoute({
  method: "GET",
  path: "/api/auth/session",
  name: "getAuthSession",
  summary: "Tell who is signed in",
  description: "Renews the session cookie. A cookie that is not valid (any more) is cleared.",
  limits: ["authReads"],
  answers: { 200: json(AuthSessionResponse, undefined, { optionalHeaders: ["Set-Cookie"] }) },
  errors: ["unavailable"],
  handle: async ({ ctx }) => answerSession(ctx),
});

/** Not strict, like the forms: pages come here with parameters of their own. */
const CallbackQuery = z.object({ callbackUrl: z.string().optional().meta({ description: "The same as the form's field, which goes first." }) });
const toPage = redirect("To the wished page; when refused, to the sign-in page with the reason in `error`.", { optionalHeaders: ["Set-Cookie"] });

/** The Auth.js client's update: whatever data it sends, the answer is what the database says. */
const updateSession = publicRoute({
  method: "POST",
  path: "/api/auth/session",
  name: "updateAuthSession",
  summary: "Read the session anew",
  description: "What the Auth.js client's `update` asks for.",
  limits: ["authPosts"],
  body: UpdateSessionForm,
  bodyBytes: limits.auth.bodyBytes,
  answers: { 200: json(AuthSessionResponse, undefined, { optionalHeaders: ["Set-Cookie"] }) },
  errors: ["csrf", "unavailable"],
  handle: async ({ ctx, body }) => {
    requireCsrf(ctx, body);
    await answerSession(ctx);
  },
});

const csrf = publicRoute({
  method: "GET",
  path: "/api/auth/csrf",
  name: "getCsrfToken",
  summary: "Get the token for forms",
  limits: ["authReads"],
  answers: { 200: json(CsrfResponse, undefined, { optionalHeaders: ["Set-Cookie"] }) },
  errors: [],
  handle: ({ ctx, deps }) => {
    const name = csrfCookieName(deps.config);
    const present = deps.csrfTokens.read(ctx.cookies.get(name));
    if (present !== undefined) {
      ctx.body = { csrfToken: present };
      return;
    }
    const { token, cookie } = deps.csrfTokens.create();
    setCookie(ctx, name, cookie);
    ctx.body = { csrfToken: token };
  },
});

const providers = publicRoute({
  method: "GET",
  path: "/api/auth/providers",
  name: "listAuthProviders",
  summary: "List the ways to sign in",
  limits: ["authReads"],
  answers: { 200: ProvidersResponse },
  errors: [],
  handle: ({ ctx, deps: { config } }) => {
    const url = `${config.baseUrl}/api/auth`;
    ctx.body = {
      credentials: {
        id: "credentials", name: "E-mail and password", type: "credentials",
        signinUrl: `${url}/signin/credentials`, callbackUrl: `${url}/callback/credentials`,
      },
    } satisfies ProvidersResponse;
  },
});

const credentials = publicRoute({
  method: "POST",
  path: "/api/auth/callback/credentials",
  name: "signInWithCredentials",
  summary: "Sign in with e-mail and password",
  limits: [],
  innerLimits: ["authPosts", "signInFailures"],
  query: CallbackQuery,
  body: CredentialsForm,
  isForm: true,
  headers: ["X-Auth-Return-Redirect"],
  answers: { 200: json(RedirectResponse, undefined, { headers: ["Set-Cookie"] }), 302: toPage },
  errors: ["invalid_credentials", "csrf", "locked", "unavailable"],
  handle: async ({ ctx, deps, query, body: form }) => {
    await answerForm(ctx, form, async (isJson) => {
      await limitPosts(ctx);
      requireCsrf(ctx, form);
      const user = await signIn(deps, { ...form, address: ctx.ip, requestId: ctx.state.requestId });
      await beginAuthSession(ctx, deps, user);
      answerUrl(ctx, isJson, callbackUrlOf(form.callbackUrl ?? query.callbackUrl, deps.config));
    });
  },
});

const signOut = publicRoute({
  method: "POST",
  path: "/api/auth/signout",
  name: "signOut",
  summary: "Sign out",
  description: "Ends the sign-in for good: copies of its cookie are worth nothing afterwards.",
  limits: [],
  innerLimits: ["authPosts"],
  query: CallbackQuery,
  body: SignOutForm,
  isForm: true,
  headers: ["X-Auth-Return-Redirect"],
  answers: { 200: json(RedirectResponse, undefined, { headers: ["Set-Cookie"] }), 302: toPage },
  errors: ["csrf", "unavailable"],
  handle: async ({ ctx, deps, query, body: form }) => {
    await answerForm(ctx, form, async (isJson) => {
      await limitPosts(ctx);
      requireCsrf(ctx, form);
      await endAuthSession(ctx, deps);
      answerUrl(ctx, isJson, callbackUrlOf(form.callbackUrl ?? query.callbackUrl, deps.config));
    });
  },
});

/** What a page's error logger sends is neither trusted nor kept. */
const clientLog = publicRoute({
  method: "POST",
  path: "/api/auth/_log",
  name: "logClientError",
  summary: "Take a page's error report",
  description: "It is neither trusted nor kept; the route exists because the Auth.js client sends to it.",
  limits: ["authPosts"],
  answers: { 204: empty("Thank you.") },
  errors: [],
  handle: ({ ctx }) => {
    ctx.status = 204;
  },
});

async function answerSession(ctx: AppContext): Promise<void> {
  const { config, postgres } = ctx.deps;
  const signedIn = await findUser(ctx);
  const user = signedIn === undefined ? undefined : await findUserById(postgres, signedIn.user.id);
  if (signedIn !== undefined && user === undefined) clearCookie(ctx, sessionCookieName(config));
  ctx.body = signedIn === undefined || user === undefined ? {} : presentAuthSession(user, signedIn.expiresAt, config.defaultAvatarUrl);
}

/** A new sign-in never continues the one that the browser had. */
async function beginAuthSession(ctx: AppContext, deps: Deps, user: User): Promise<void> {
  const { config, tokens, authSessions, audit } = deps;
  const before = await tokens.verify(ctx);
  if (before !== undefined) await authSessions.revoke(authSessionIdOf(before.sid));
  const { sid, endsBy } = await authSessions.create(user.id);
  const { token, expiresAt } = tokens.issue({ sub: user.id, name: user.name, email: user.email, sid }, endsBy);
  setCookie(ctx, sessionCookieName(config), token, expiresAt);
  await audit.record({ action: "signIn.succeeded", actor: { kind: "user", id: user.id }, address: ctx.ip, requestId: ctx.state.requestId });
}

/** Ends the sign-in for good: copies of the cookie are worth nothing afterwards. */
async function endAuthSession(ctx: AppContext, { config, tokens, authSessions, audit }: Deps): Promise<void> {
  const claims = await tokens.verify(ctx);
  if (claims !== undefined) {
    await authSessions.revoke(authSessionIdOf(claims.sid));
    await audit.record({ action: "signOut", actor: { kind: "user", id: claims.sub }, address: ctx.ip, requestId: ctx.state.requestId });
  }
  clearCookie(ctx, sessionCookieName(config));
}

export const authRoutes = [session, updateSession, csrf, providers, credentials, signOut, clientLog];
