import { signInPageUrl } from "./callbackUrl.ts";
import { csrfCookieName } from "./cookies.ts";
import { OAuthFailure } from "./oauth/oauthProvider.ts";
import { translateUserGone } from "./userQueries.ts";
import type { AuthContext } from "./browserSignIn.ts";
import { DomainError, rateLimited } from "../errors.ts";
import { toHttpError, type HttpError } from "../http/httpError.ts";
import { auditErrorResponse, auditLimits } from "../audit/auditErrorResponse.ts";
import type { AppContext } from "../http/appContext.ts";

/** Fields that the sign-in and sign-out forms share. */
interface AuthForm {
  json?: string | boolean | undefined;
  csrfToken?: string | undefined;
}

/** Returns whether the client expects `{url}` instead of a redirect. */
function wantsJson(ctx: AppContext, form: AuthForm): boolean {
  return (
    form.json === "true" ||
    form.json === true ||
    ctx.get("x-auth-return-redirect") !== "" ||
    acceptsOnlyJson(ctx)
  );
}

/** Many clients, such as axios, prefer JSON but accept anything. They are redirected. */
function acceptsOnlyJson(ctx: AppContext): boolean {
  return /^application\/json\s*(?:;[^,]*)?$/i.test(ctx.get("accept"));
}

/** Redirects the browser, or returns the URL as JSON. */
export function respondWithUrl(ctx: AppContext, isJson: boolean, url: string): void {
  if (isJson) {
    ctx.body = { url };
    return;
  }
  ctx.status = 302;
  ctx.set("Location", url);
  ctx.type = "text";
  ctx.body = `Continue at ${url}`;
}

/** Description of the responses of form routes. */
export const jsonInstead =
  "A client that accepts only JSON gets `{url}` instead of a redirect, and errors with their status.";

/** Properties that all form routes share. */
export const formRoute = {
  isForm: true,
  limits: [],
  headers: ["X-Auth-Return-Redirect"],
  refuseInput: refuseForm,
} as const;

/**
 * Counts the post, checks its token and runs the work of the form. An error redirects to the sign-in page
 * with the reason in the query. JSON clients get the status and a `url`, from which the Auth.js client reads
 * the reason.
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
    // Thrown errors are audited when they become a response.
    auditErrorResponse(ctx, error);
    respondWithUrl(ctx, false, url);
  }
}

/** Refuses an unreadable form and counts the attempt. Whether the page expects JSON is unknown. */
async function refuseForm(ctx: AuthContext, thrown: unknown): Promise<never> {
  const error = await limitPosts(ctx).then(() => toHttpError(thrown), toHttpError);
  throw error.with({ url: pageAfter(ctx, error) });
}

/** Throws `csrf` unless the form's token belongs to the browser's cookie. */
export function requireCsrf(ctx: AuthContext, form: AuthForm): void {
  const { config, csrfTokens, metrics } = ctx.deps;
  if (csrfTokens.matches(ctx.cookies.get(csrfCookieName(config)), form.csrfToken)) return;
  metrics.signInDone("csrf");
  throw new DomainError("csrf", { message: "The form's token is missing or outdated. Reload the page." });
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

/** Returns the provider's failure that caused the error, if any. */
function oauthFailureBehind(error: Error): OAuthFailure | undefined {
  for (let { cause } = error; cause instanceof Error; cause = cause.cause) {
    if (cause instanceof OAuthFailure) return cause;
  }
  return undefined;
}
