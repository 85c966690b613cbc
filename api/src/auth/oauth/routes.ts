import { playerHeader, ProviderForm, ProviderParams, RedirectResponse } from "#contracts/http/auth.ts";
import { accountHashOf } from "../tokens.ts";
import { callbackUrlOf, signInPageUrl } from "../callbackUrl.ts";
import { clearCookie, cookiesWithPrefix, setCookie, transactionCookiePrefix } from "../cookies.ts";
import { OAuthFailure, describeError, type OAuthProvider } from "./oauthProvider.ts";
import { transactionIdOf, type OAuthTransaction } from "./oauthTransactions.ts";
import { signInWithIdentity } from "../signInWithIdentity.ts";
import { notFound, unauthorized, unavailable } from "../../errors.ts";
import { findSignInMethods } from "../identityQueries.ts";
import { isIssuer } from "../issuer.ts";
import {
  isRecentSignIn,
  requireReauthentication,
  type AuthContext,
  type AuthDeps,
  signInByProvider,
} from "../browserSignIn.ts";
import { isForPlayer, findUser, runWithRenewal, type UserPrincipal } from "../requireUser.ts";
import { json, redirect } from "../../http/responses.ts";
import { HttpError } from "../../http/httpError.ts";
import { publicRouteFor } from "../../http/route.ts";
import { respondToForm, respondWithUrl, formRoute, jsonInstead } from "../authResponse.ts";

const route = publicRouteFor<AuthDeps>();
const credentials = "credentials";

const startSignIn = route({
  method: "POST",
  path: "/api/auth/signin/:provider",
  name: "startProviderSignIn",
  summary: "Start a sign-in with an external provider",
  description:
    "Returns the provider's URL and sets a cookie that the callback needs. A user who is already signed in links " +
    "the provider's account to theirs, for which they need their password, or a sign-in younger than 5 minutes; a page that links sends " +
    "`Joypod-Player`, so that no other player is signed in or linked. The query parameters `prompt`, `login_hint`, `ui_locales` and `display` are passed on. " +
    jsonInstead,
  ...formRoute,
  headers: [...formRoute.headers, playerHeader],
  innerLimits: ["authPosts", "signInFailures"],
  params: ProviderParams,
  body: ProviderForm,
  responses: {
    200: json(RedirectResponse, undefined, { optionalHeaders: ["Set-Cookie"] }),
    302: redirect("To the provider; when refused, to the sign-in page with the reason in `error`.", {
      optionalHeaders: ["Set-Cookie"],
    }),
  },
  errors: ["unauthorized", "csrf", "not_found", "reauthentication_required", "locked", "unavailable"],
  handle: async ({ ctx, deps, params, body: form }) => {
    // A provider may take seconds to return its metadata.
    await runWithRenewal(ctx, () =>
      respondToForm(ctx, form, async (isJson) => {
        const query = new URLSearchParams(ctx.querystring);
        const callbackUrl = callbackUrlOf(
          form.callbackUrl ?? query.get("callbackUrl") ?? undefined,
          deps.config,
        );
        if (params.provider === credentials)
          respondWithUrl(ctx, isJson, signInPageUrl(deps.config, { callbackUrl }));
        else
          respondWithUrl(
            ctx,
            isJson,
            await begin(ctx, providerOf(ctx, params.provider), {
              callbackUrl,
              query,
              currentPassword: form.currentPassword,
            }),
          );
      }),
    );
  },
});

const finishSignIn = route({
  method: "GET",
  path: "/api/auth/callback/:provider",
  name: "finishProviderSignIn",
  summary: "Complete a sign-in with an external provider",
  description:
    "The provider redirects the browser here with its response in the query. Only the browser that started the sign-in can complete it.",
  limits: ["authPosts"],
  params: ProviderParams,
  responses: {
    302: redirect("To the requested page. After a failure, to the sign-in page with the reason in `error`.", {
      optionalHeaders: ["Set-Cookie"],
    }),
  },
  errors: ["method_not_allowed", "unavailable"],
  handle: async ({ ctx, deps, params }) => {
    // Address of the password form's posts, which the router cannot distinguish from a provider's.
    if (params.provider === credentials) {
      throw new HttpError("method_not_allowed", {
        message: "Use one of POST, OPTIONS here.",
        headers: { Allow: "POST, OPTIONS" },
      });
    }
    try {
      respondWithUrl(ctx, false, await finish(ctx, params.provider));
    } catch (error) {
      if (!(error instanceof OAuthFailure)) throw error;
      await reportFailure(ctx, params.provider, error);
      respondWithUrl(ctx, false, signInPageUrl(deps.config, { error: error.reason }));
    }
  },
});

function providerOf(ctx: AuthContext, id: string): OAuthProvider {
  const provider = ctx.deps.oauthProviders.get(id);
  if (provider === undefined) throw notFound("There is no such sign-in provider.");
  return provider;
}

/**
 * Returns the provider's address and stores the transaction in a cookie.
 *
 * @throws unauthorized when the player to link is no longer signed in
 */
async function begin(
  ctx: AuthContext,
  provider: OAuthProvider,
  {
    callbackUrl,
    query,
    currentPassword,
  }: { callbackUrl: string; query: URLSearchParams; currentPassword: string | undefined },
): Promise<string> {
  const { config, oauthTransactions } = ctx.deps;
  const signedIn = await findUser(ctx);
  if (!isForPlayer(ctx, signedIn?.user)) {
    throw unauthorized({
      cause: new OAuthFailure(
        "SessionRequired",
        "The player who started the sign-in is no longer signed in.",
      ),
    });
  }
  const mayLink =
    signedIn !== undefined && (await isLinkAllowed(ctx, signedIn.user, provider, currentPassword));
  const proof = provider.createProof();
  const url = await provider.authorizationUrl(proof, query).catch(async (error: unknown) => {
    if (!(error instanceof OAuthFailure)) throw error;
    await reportFailure(ctx, provider.id, error);
    throw unavailable("The sign-in provider does not respond. Try again in a moment.", error);
  });
  const prefix = transactionCookiePrefix(config);
  const name = prefix + transactionIdOf(proof.state);
  const { value, expiresAt } = oauthTransactions.seal(name, {
    provider: provider.id,
    ...proof,
    callbackUrl,
    linkTo: signedIn?.user.authSessionId,
    mayLink,
  });
  for (const old of oauthTransactions.cookiesToEvict(
    cookiesWithPrefix(ctx, prefix),
    name.length + value.length,
  ))
    clearCookie(ctx, old);
  setCookie(ctx, name, value, expiresAt);
  return url;
}

/**
 * Returns whether a signed-in player may link an account of the provider.
 *
 * @throws reauthentication_required when only linking is possible
 */
async function isLinkAllowed(
  ctx: AuthContext,
  user: UserPrincipal,
  provider: OAuthProvider,
  currentPassword: string | undefined,
): Promise<boolean> {
  const { clock, postgres } = ctx.deps;
  if (currentPassword === undefined && !isRecentSignIn(clock, user)) {
    const { issuers } = await findSignInMethods(postgres.pool, user.id);
    const issuer = await provider.issuer();
    // A sign-in at a linked provider is how players without a password reauthenticate. A provider with an
    // unknown issuer cannot sign anybody in.
    if (issuer === undefined || issuers.some((linked) => isIssuer(issuer, linked))) return false;
  }
  await requireReauthentication(ctx, user, currentPassword);
  return true;
}

/** Signs the browser in and returns the address to continue at. */
async function finish(ctx: AuthContext, providerId: string): Promise<string> {
  const { oauthProviders, metrics } = ctx.deps;
  const transaction = takeTransaction(ctx);
  const provider = oauthProviders.get(providerId);
  if (transaction === undefined || provider === undefined || transaction.provider !== providerId) {
    throw new OAuthFailure(
      "OAuthCallback",
      "This browser did not start this sign-in, or started it too long ago.",
    );
  }
  const { state, nonce, verifier, callbackUrl } = transaction;
  const profile = await provider.profileOf(ctx.querystring, { state, nonce, verifier });
  const linkTo = await linkTargetOf(ctx, transaction);
  const { mayLink = false } = transaction;
  const user = await signInWithIdentity(ctx.deps, {
    provider,
    profile,
    linkTo,
    mayLink,
    address: ctx.ip,
    requestId: ctx.state.requestId,
  });
  await signInByProvider(ctx, user, provider.id);
  metrics.signInDone("succeeded");
  return callbackUrl;
}

/** Returns the transaction of the response's state. Its cookie can be used once, whatever the result. */
function takeTransaction(ctx: AuthContext): OAuthTransaction | undefined {
  const { config, oauthTransactions } = ctx.deps;
  const state = new URLSearchParams(ctx.querystring).get("state");
  if (state === null) return undefined;
  const prefix = transactionCookiePrefix(config);
  const name = prefix + transactionIdOf(state);
  const value = cookiesWithPrefix(ctx, prefix).get(name);
  if (value === undefined) return undefined;
  clearCookie(ctx, name);
  return oauthTransactions.open(name, value);
}

/** Returns the user who asked to link the identity, if the same sign-in is still active. */
async function linkTargetOf(ctx: AuthContext, { linkTo }: OAuthTransaction): Promise<string | undefined> {
  if (linkTo === undefined) return undefined;
  const signedIn = await findUser(ctx);
  if (signedIn?.user.authSessionId !== linkTo)
    throw new OAuthFailure(
      "SessionRequired",
      "The player who asked to link the identity is no longer signed in.",
    );
  return signedIn.user.id;
}

/** Logs a refused sign-in for operators; the browser gets only the reason. */
async function reportFailure(ctx: AuthContext, provider: string, failure: OAuthFailure): Promise<void> {
  const { config, logger, audit, metrics } = ctx.deps;
  const { requestId } = ctx.state;
  logger.warn(
    { provider, reason: failure.reason, why: describeError(failure), requestId },
    "The API refused a sign-in through a provider.",
  );
  metrics.signInDone("failed");
  const subject =
    failure.email === undefined
      ? undefined
      : { kind: "account", id: accountHashOf(config.auth.pepper, failure.email) };
  await audit.record({
    action: "signIn.refused",
    actor: { kind: "anonymous" },
    ...(subject !== undefined && { subject }),
    address: ctx.ip,
    requestId,
    details: { provider, reason: failure.reason },
  });
}

export const authProviderRoutes = [startSignIn, finishSignIn];
