import {
  EndedSignInsResponse,
  SetPasswordRequest,
  SignInParams,
  SignInsResponse,
  UnlinkRequest,
} from "#contracts/http/account.ts";
import { ProviderParams } from "#contracts/http/auth.ts";
import type { AuthDeps } from "../auth/authDeps.ts";
import { giveAuthSession } from "../auth/browserSignIn.ts";
import { clearCookie, sessionCookieName } from "../auth/cookies.ts";
import { withIssuers } from "../auth/issuer.ts";
import { requireReauthentication } from "../auth/reauthentication.ts";
import type { UserPrincipal } from "../auth/requireUser.ts";
import { signInPlaceOf } from "../auth/signInPlace.ts";
import { userRouteFor } from "../auth/userRoute.ts";
import { notFound, unavailable } from "../errors.ts";
import type { AppContext } from "../http/appContext.ts";
import { empty } from "../http/responses.ts";
import { changeOwnPassword, endOtherSignIns, type Player } from "./changeOwnPassword.ts";
import { presentSignIns } from "./presentSignIns.ts";
import { unlinkProvider } from "./unlinkProvider.ts";

const route = userRouteFor<AuthDeps>();
const path = "/api/account";

const setPassword = route({
  method: "PUT",
  path: `${path}/password`,
  name: "setPassword",
  summary: "Set or change one's password",
  description: "Ends all other sign-ins.",
  limits: ["account"],
  innerLimits: ["signInFailures"],
  body: SetPasswordRequest,
  responses: { 200: EndedSignInsResponse },
  errors: ["common_password", "reauthentication_required", "locked"],
  handle: async ({ ctx, deps, user, body: { newPassword, currentPassword } }) => {
    await requireReauthentication(ctx, user, currentPassword);
    const { begun, endedOthers } = await changeOwnPassword(deps, playerOf(ctx, user), newPassword);
    giveAuthSession(ctx, user, begun);
    ctx.body = { endedSignIns: endedOthers };
  },
});

const unlink = route({
  method: "POST",
  path: `${path}/providers/:provider/unlink`,
  name: "unlinkProvider",
  summary: "Unlink an external provider",
  description:
    "The provider's account signs in to this one no more. Nothing happens when none was linked; the last way to sign in cannot be taken away.",
  limits: ["account"],
  innerLimits: ["signInFailures"],
  params: ProviderParams,
  body: UnlinkRequest,
  responses: { 204: empty("The provider is not linked (any more).") },
  errors: ["reauthentication_required", "locked", "not_found", "conflict"],
  handle: async ({ ctx, deps, user, params, body: { currentPassword } }) => {
    const provider = deps.oauthProviders.get(params.provider);
    if (provider === undefined) throw notFound("There is no such way to sign in.");
    await requireReauthentication(ctx, user, currentPassword);
    const providers = await withIssuers(deps.oauthProviders.values());
    const { id } = provider;
    const issuer = providers.find((one) => one.id === id)?.issuer;
    if (issuer === undefined)
      throw unavailable("The provider does not answer just now: try again in a moment.");
    await unlinkProvider(deps, {
      userId: user.id,
      provider: { id, issuer },
      providers,
      address: ctx.ip,
      requestId: ctx.state.requestId,
    });
    ctx.status = 204;
  },
});

const listSignIns = route({
  method: "GET",
  path: `${path}/sign-ins`,
  name: "listSignIns",
  summary: "List where one is signed in",
  limits: ["catalog"],
  responses: { 200: SignInsResponse },
  errors: [],
  handle: async ({ ctx, deps, user }) => {
    ctx.body = presentSignIns(await deps.authSessions.list(user.id), user.authSessionId);
  },
});

const endSignIn = route({
  method: "DELETE",
  path: `${path}/sign-ins/:signInId`,
  name: "endSignIn",
  summary: "End one sign-in",
  description: "The browser that it belongs to is signed out with its next request; one's own at once.",
  limits: ["account"],
  params: SignInParams,
  responses: { 204: empty("That browser is signed out.") },
  errors: ["not_found"],
  handle: async ({ ctx, deps: { authSessions, audit, config }, user, params: { signInId } }) => {
    if (!(await authSessions.revokeOwn(signInId, user.id))) throw notFound("There is no such sign-in.");
    const actor = { kind: "user", id: user.id } as const;
    await audit.record({
      action: "user.signInsEnded",
      actor,
      subject: actor,
      address: ctx.ip,
      requestId: ctx.state.requestId,
      details: { endedSignIns: 1 },
    });
    if (signInId === user.authSessionId) clearCookie(ctx, sessionCookieName(config));
    ctx.status = 204;
  },
});

const endSignIns = route({
  method: "DELETE",
  path: `${path}/sign-ins`,
  name: "endOtherSignIns",
  summary: "End all other sign-ins",
  limits: ["account"],
  responses: { 200: EndedSignInsResponse },
  errors: [],
  handle: async ({ ctx, deps, user }) => {
    const { begun, endedOthers } = await endOtherSignIns(deps, playerOf(ctx, user));
    giveAuthSession(ctx, user, begun);
    ctx.body = { endedSignIns: endedOthers };
  },
});

function playerOf(ctx: AppContext, { id, authSessionId, signedInAt }: UserPrincipal): Player {
  return {
    id,
    authSessionId,
    signedInAt,
    place: signInPlaceOf(ctx),
    address: ctx.ip,
    requestId: ctx.state.requestId,
  };
}

/** Routes by which players change how they sign in. */
export const accountRoutes = [setPassword, unlink, listSignIns, endSignIn, endSignIns];
