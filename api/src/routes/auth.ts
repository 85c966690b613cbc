import { CredentialsForm, SignOutForm, UpdateSessionForm, type ProvidersResponse } from "#contracts/http/auth.ts";
import { limits } from "#contracts/limits.ts";
import { callbackUrlOf } from "../auth/callbackUrl.ts";
import { clearCookie, csrfCookieName, sessionCookieName, setCookie } from "../auth/cookies.ts";
import { authSessionIdOf } from "../auth/tokens.ts";
import { signIn } from "../commands/signIn.ts";
import type { Deps } from "../deps.ts";
import { findUser } from "../middleware/requireUser.ts";
import { presentAuthSession } from "../presenters/authSession.ts";
import type { AppContext } from "../routing/appContext.ts";
import { readForm, readJson } from "../routing/body.ts";
import { check } from "../routing/input.ts";
import { publicRoute } from "../routing/route.ts";
import { findUserById, type User } from "../stores/users.ts";
import { answerForm, answerUrl, limitPosts, requireCsrf } from "./authAnswer.ts";

const session = publicRoute({
  method: "GET",
  path: "/api/auth/session",
  limits: ["authReads"],
  handle: async ({ ctx }) => answerSession(ctx),
});

/** The Auth.js client's update: whatever data it sends, the answer is what the database says. */
const updateSession = publicRoute({
  method: "POST",
  path: "/api/auth/session",
  limits: ["authPosts"],
  handle: async ({ ctx }) => {
    requireCsrf(ctx, check(UpdateSessionForm, await readJson(ctx, limits.auth.bodyBytes)));
    await answerSession(ctx);
  },
});

const csrf = publicRoute({
  method: "GET",
  path: "/api/auth/csrf",
  limits: ["authReads"],
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
  limits: ["authReads"],
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
  limits: [],
  handle: async ({ ctx, deps }) => {
    const form = check(CredentialsForm, await readForm(ctx));
    await answerForm(ctx, form, async (isJson) => {
      await limitPosts(ctx);
      requireCsrf(ctx, form);
      const user = await signIn(deps, { ...form, address: ctx.ip, requestId: ctx.state.requestId });
      await beginAuthSession(ctx, deps, user);
      answerUrl(ctx, isJson, callbackUrlOf(form.callbackUrl ?? queryValue(ctx, "callbackUrl"), deps.config));
    });
  },
});

const signOut = publicRoute({
  method: "POST",
  path: "/api/auth/signout",
  limits: [],
  handle: async ({ ctx, deps }) => {
    const form = check(SignOutForm, await readForm(ctx));
    await answerForm(ctx, form, async (isJson) => {
      await limitPosts(ctx);
      requireCsrf(ctx, form);
      await endAuthSession(ctx, deps);
      answerUrl(ctx, isJson, callbackUrlOf(form.callbackUrl ?? queryValue(ctx, "callbackUrl"), deps.config));
    });
  },
});

/** What a page's error logger sends is neither trusted nor kept. */
const clientLog = publicRoute({
  method: "POST",
  path: "/api/auth/_log",
  limits: ["authPosts"],
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
  const sid = await authSessions.create(user.id);
  const { token, expiresAt } = tokens.issue({ sub: user.id, name: user.name, email: user.email, sid });
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

function queryValue(ctx: AppContext, name: string): string | undefined {
  return new URLSearchParams(ctx.querystring).get(name) ?? undefined;
}

export const authRoutes = [session, updateSession, csrf, providers, credentials, signOut, clientLog];
