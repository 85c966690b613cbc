import {
  EndedSignInsResponse,
  SetPasswordRequest,
  SignInParams,
  SignInsResponse,
  UnlinkRequest,
} from "#contracts/http/account.ts";
import { ProviderParams } from "#contracts/http/auth.ts";
import { type AuthDeps, giveAuthSession, requireReauthentication } from "../auth/browserSignIn.ts";
import { clearCookie, sessionCookieName } from "../auth/cookies.ts";
import { withIssuers, isIssuer, type ProviderIssuer } from "../auth/issuer.ts";
import { type UserPrincipal, userRouteFor, type UserDeps } from "../auth/requireUser.ts";
import { signInPlaceOf } from "../auth/signInPlace.ts";
import { notFound, unavailable, DomainError } from "../errors.ts";
import type { AppContext } from "../http/appContext.ts";
import { empty } from "../http/responses.ts";
import { changeOwnPassword, endOtherSignIns, type Player } from "./changeOwnPassword.ts";
import { QualityRequest, StreamQualityResponse, type SiteBounds } from "#contracts/streamQuality.ts";
import type { Postgres } from "../stores/postgres.ts";
import { findKeptQuality, updateKeptQuality, deleteIdentities, lockSignInMethods } from "./accountQueries.ts";
import type { AuthSessionRow } from "../auth/authSessionQueries.ts";
import type { Audit } from "../audit/audit.ts";

const route = userRouteFor<AuthDeps>();
const path = "/api/account";

const setPassword = route({
  method: "PUT",
  path: `${path}/password`,
  name: "setPassword",
  summary: "Set or change the password",
  description: "Ends all other sign-ins.",
  limits: ["account"],
  innerLimits: ["signInFailures"],
  body: SetPasswordRequest,
  responses: { 200: EndedSignInsResponse },
  errors: ["common_password", "reauthentication_required", "locked"],
  handle: async ({ ctx, deps, user, body: { newPassword, currentPassword } }) => {
    await requireReauthentication(ctx, user, currentPassword);
    const { created, endedOthers } = await changeOwnPassword(deps, playerOf(ctx, user), newPassword);
    giveAuthSession(ctx, user, created);
    ctx.body = { endedSignIns: endedOthers };
  },
});

const unlink = route({
  method: "POST",
  path: `${path}/providers/:provider/unlink`,
  name: "unlinkProvider",
  summary: "Unlink an external provider",
  description:
    "The provider's account can no longer sign in to this one. A no-op when none is linked. The last way to sign in cannot be removed.",
  limits: ["account"],
  innerLimits: ["signInFailures"],
  params: ProviderParams,
  body: UnlinkRequest,
  responses: { 204: empty("The provider is not linked.") },
  errors: ["reauthentication_required", "locked", "not_found", "conflict"],
  handle: async ({ ctx, deps, user, params, body: { currentPassword } }) => {
    const provider = deps.oauthProviders.get(params.provider);
    if (provider === undefined) throw notFound("There is no such sign-in provider.");
    await requireReauthentication(ctx, user, currentPassword);
    const providers = await withIssuers(deps.oauthProviders.values());
    const { id } = provider;
    const issuer = providers.find((one) => one.id === id)?.issuer;
    if (issuer === undefined)
      throw unavailable("The sign-in provider does not respond. Try again in a moment.");
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
  summary: "List sign-ins",
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
  summary: "End a sign-in",
  description:
    "Its browser is signed out with its next request. The current browser is signed out immediately.",
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
    const { created, endedOthers } = await endOtherSignIns(deps, playerOf(ctx, user));
    giveAuthSession(ctx, user, created);
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

/** Routes that change a player's sign-in methods. */
export const accountRoutes = [setPassword, unlink, listSignIns, endSignIn, endSignIns];

/** Dependencies of these routes. */
type QualityDeps = UserDeps & { postgres: Postgres; config: { gameSession: { stream: SiteBounds } } };

const qualityRoute = userRouteFor<QualityDeps>();
const qualityPath = "/api/account/stream-quality";

const showQuality = qualityRoute({
  method: "GET",
  path: qualityPath,
  name: "getStreamQuality",
  summary: "Get the stream quality preference",
  limits: ["catalog"],
  responses: { 200: StreamQualityResponse },
  errors: [],
  handle: async ({ ctx, deps, user }) => {
    ctx.body = presentQualityChoice(
      await findKeptQuality(deps.postgres.pool, user.id),
      deps.config.gameSession.stream,
    );
  },
});

const chooseQuality = qualityRoute({
  method: "PUT",
  path: qualityPath,
  name: "setStreamQuality",
  summary: "Set the stream quality preference",
  description:
    "The preference applies to later launches that request no quality of their own. A running session changes its quality by a message on its data channel.",
  limits: ["account"],
  body: QualityRequest,
  responses: { 200: StreamQualityResponse },
  errors: [],
  handle: async ({ ctx, deps, user, body }) => {
    await updateKeptQuality(deps.postgres.pool, user.id, body);
    ctx.body = presentQualityChoice(body, deps.config.gameSession.stream);
  },
});

function presentQualityChoice(
  quality: QualityRequest,
  { maxWidth, maxHeight, maxFps, maxKbps }: SiteBounds,
): StreamQualityResponse {
  return { quality, maximum: { width: maxWidth, height: maxHeight, fps: maxFps, maxKbps } };
}

/** Routes for a player's stream quality. */
export const qualityRoutes = [showQuality, chooseQuality];

/** Returns the player's sign-ins for the account page. `currentId` is the sign-in of the request. */
function presentSignIns(rows: readonly AuthSessionRow[], currentId: string): SignInsResponse {
  return {
    signIns: rows.map(({ id, startedAt, lastUsedAt, device, ipPrefix }) => ({
      signInId: id,
      isCurrent: id === currentId,
      device,
      network: ipPrefix,
      signedInAt: startedAt.toISOString(),
      lastUsedAt: lastUsedAt.toISOString(),
    })),
  };
}

/** A request to unlink a provider. */
interface Unlinking {
  userId: string;
  provider: { id: string; issuer: string };
  /** All configured providers. */
  providers: readonly Pick<ProviderIssuer, "issuer">[];
  address: string;
  requestId: string;
}

/**
 * Unlinks the provider's accounts from the player. A no-op when none is linked.
 *
 * @throws conflict when the player would have no sign-in method left
 */
async function unlinkProvider(
  { postgres, audit }: { postgres: Postgres; audit: Audit },
  { userId, provider, providers, address, requestId }: Unlinking,
): Promise<void> {
  const canSignIn = (stored: string): boolean =>
    providers.some(({ issuer }) => issuer !== undefined && isIssuer(issuer, stored));
  const unlinked = await postgres.transaction(async (transaction) => {
    // The lock keeps two concurrent requests from removing the player's last sign-in method.
    const { hasPassword, issuers } = await lockSignInMethods(transaction, userId);
    const leaving = issuers.filter((stored) => isIssuer(provider.issuer, stored));
    const isLast = !hasPassword && !issuers.some((stored) => !leaving.includes(stored) && canSignIn(stored));
    if (leaving.length > 0 && isLast) {
      throw new DomainError("conflict", {
        message:
          "This is the only way to sign in to this account. Set a password or link another provider first.",
      });
    }
    return leaving.length === 0 ? 0 : deleteIdentities(transaction, userId, leaving);
  });
  if (unlinked === 0) return;
  const user = { kind: "user", id: userId } as const;
  await audit.record({
    action: "identity.unlinked",
    actor: user,
    subject: user,
    address,
    requestId,
    details: { provider: provider.id },
  });
}
