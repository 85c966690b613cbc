import { signInPageUrl } from "./callbackUrl.ts";
import { csrfCookieName } from "./cookies.ts";
import { OAuthFailure } from "./oauth/oauthProvider.ts";
import { translateUserGone } from "./userQueries.ts";
import type { AuthContext } from "./browserSignIn.ts";
import { DomainError, rateLimited } from "../errors.ts";
import { toHttpError, type HttpError } from "../http/httpError.ts";
import { auditErrorResponse, auditLimits } from "../audit/auditErrorResponse.ts";
import type { AppContext } from "../http/appContext.ts";

/** What the sign-in and sign-out forms have in common. */
interface AuthForm {
  json?: string | boolean | undefined;
  csrfToken?: string | undefined;
}

/** Whether the page wants to go on by itself (`{url}`), rather than be redirected. */
function wantsJson(ctx: AppContext, form: AuthForm): boolean {
  return (
    form.json === "true" ||
    form.json === true ||
    ctx.get("x-auth-return-redirect") !== "" ||
    acceptsJsonAlone(ctx)
  );
}

/**
 * Many clients list JSON first and take anything after it, as axios does: they are redirected like others.
 */
function acceptsJsonAlone(ctx: AppContext): boolean {
  return /^application\/json\s*(?:;[^,]*)?$/i.test(ctx.get("accept"));
}

/** Sends the browser on. */
export function respondWithUrl(ctx: AppContext, isJson: boolean, url: string): void {
  if (isJson) {
    ctx.body = { url };
    return;
  }
  ctx.status = 302;
  ctx.set("Location", url);
  ctx.type = "text";
  ctx.body = `Go on at ${url}`;
}

/** What the routes of forms say of their responses. */
export const jsonInstead =
  "A client that accepts JSON alone gets `{url}`, and errors with their status, instead of a redirect.";

/** What the routes of forms have in common. */
export const formRoute = {
  isForm: true,
  limits: [],
  headers: ["X-Auth-Return-Redirect"],
  refuseInput: refuseForm,
} as const;

/**
 * Runs the work of a form, once the post is counted and its token is right; an error becomes the sign-in page
 * with the reason in its address. Pages that go on by themselves also get the status, and always a `url`: the
 * Auth.js client reads the reason from that.
 */
export async function respondToForm(
  ctx: AuthContext,
  form: AuthForm,
  work: (isJson: boolean) => Promise<void>,
): Promise<void> {
  const isJson = wantsJson(ctx, form);
  try {
    await limitPosts(ctx);
    requireCsrf(ctx, form);
    await work(isJson);
  } catch (thrown) {
    const error = toHttpError(translateUserGone(thrown));
    const url = pageAfter(ctx, error);
    const isFault = error.status >= 500 && oauthFailureBehind(error) === undefined;
    if (isJson || isFault) throw error.with({ url });
    // What is thrown is recorded where it becomes a response.
    auditErrorResponse(ctx, error);
    respondWithUrl(ctx, false, url);
  }
}

/**
 * Refuses a form that could not be read. The attempt counts as any other. Nobody knows which kind of response
 * its page wants.
 */
async function refuseForm(ctx: AuthContext, thrown: unknown): Promise<never> {
  const error = await limitPosts(ctx).then(() => toHttpError(thrown), toHttpError);
  throw error.with({ url: pageAfter(ctx, error) });
}

/** Throws `csrf` unless the form's token belongs to the browser's cookie. */
export function requireCsrf(ctx: AuthContext, form: AuthForm): void {
  const { config, csrfTokens, metrics } = ctx.deps;
  if (csrfTokens.matches(ctx.cookies.get(csrfCookieName(config)), form.csrfToken)) return;
  metrics.signInDone("csrf");
  throw new DomainError("csrf", { message: "The form's token is missing or old: load the page again." });
}

/** Counts a form post by address. */
async function limitPosts(ctx: AuthContext): Promise<void> {
  const { rateLimits } = ctx.deps;
  const outcome = await rateLimits.consume("authPosts", rateLimits.addressKey(ctx.ip));
  auditLimits(ctx, [outcome]);
  if (!outcome.isAllowed) throw rateLimited(outcome.resetSeconds);
}

/** The sign-in page, with the reason of an error. */
function pageAfter({ deps: { config } }: AuthContext, error: HttpError): string {
  return signInPageUrl(config, reasonOf(error));
}

function reasonOf(error: HttpError): Record<string, string> {
  const { code } = error;
  const failure = oauthFailureBehind(error);
  if (failure !== undefined) return { error: failure.reason };
  if (code === "csrf") return { error: "MissingCSRF", csrf: "true" };
  if (code === "not_found") return { error: "OAuthSignin" };
  if (code === "reauthentication_required") return { error: "ReauthenticationRequired" };
  if (code === "invalid_credentials") return { error: "CredentialsSignin", code: "credentials" };
  return { error: "CredentialsSignin", code };
}

/** Returns the provider's failure that the error was made of, if it was. */
function oauthFailureBehind(error: Error): OAuthFailure | undefined {
  for (let { cause } = error; cause instanceof Error; cause = cause.cause) {
    if (cause instanceof OAuthFailure) return cause;
  }
  return undefined;
}
