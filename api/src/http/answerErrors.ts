import { errors, type ErrorBody, type ErrorCode } from "#contracts/http/errors.ts";
import type { Next } from "koa";
import { HttpError, unauthorized, unavailable } from "../errors.ts";
import type { AppContext } from "./appContext.ts";
import { auditRefusal } from "../audit/auditErrorResponse.ts";
import { isDatabaseUnavailable } from "../stores/databaseUnavailable.ts";
import { isUserGone } from "../accounts/userGone.ts";

/** The one place where an error becomes an answer. What nobody foresaw is logged, and told only as a request id. */
export async function answerErrors(ctx: AppContext, next: Next): Promise<void> {
  try {
    await next();
    if (ctx.status === 404 && ctx.body === undefined) throw new HttpError("not_found", { message: "There is nothing at this address." });
  } catch (error) {
    const refusal = toHttpError(error);
    if (refusal.status >= 500) logFault(ctx, refusal, error);
    else auditRefusal(ctx, refusal);
    ctx.status = refusal.status;
    ctx.set(refusal.headers);
    ctx.body = bodyOf(ctx, refusal);
  }
}

function bodyOf(ctx: AppContext, { code, message, hasMessage, details, extra }: HttpError): ErrorBody {
  const isPartner = ctx.path.startsWith("/api/partners");
  const needsMessage = hasMessage || isPartner || code === "internal_error";
  // Partners' refusals have the form of the specification; the id is in a header. A fault of ours must be reportable.
  const needsRequestId = !isPartner || code === "internal_error";
  return {
    error: code,
    ...(needsMessage && { message: hasMessage ? message : sentences[code] ?? "The request was refused." }),
    ...(needsRequestId && { requestId: ctx.state.requestId }),
    ...(details !== undefined && { details }),
    ...extra,
  };
}

const sentences: Partial<Record<ErrorCode, string>> = {
  internal_error: "Something went wrong on our side; tell us the requestId.",
  unauthorized: "A valid credential is required.",
};

/** Any error as the refusal that it is answered with. */
export function toHttpError(error: unknown): HttpError {
  if (error instanceof HttpError) return error;
  if (isDatabaseUnavailable(error)) return unavailable("The service is not available just now: try again in a moment.", error);
  if (isUserGone(error)) return unauthorized({ cause: error });
  const code = codeOfStatus(error);
  return code === undefined ? new HttpError("internal_error", { cause: error }) : new HttpError(code, { cause: error });
}

/** Koa's and its packages' own errors, such as an address that is not valid UTF-8, carry a status. */
function codeOfStatus(error: unknown): ErrorCode | undefined {
  const status = error instanceof Error && "status" in error ? error.status : undefined;
  if (typeof status !== "number" || status >= 500) return undefined;
  if (status === 400) return "invalid_request";
  return (Object.keys(errors) as ErrorCode[]).find((code) => errors[code].status === status) ?? "invalid_request";
}

function logFault(ctx: AppContext, refusal: HttpError, error: unknown): void {
  const keys = { err: error, requestId: ctx.state.requestId, route: ctx.state.route ?? ctx.method };
  if (refusal.code === "internal_error") ctx.deps.logger.error(keys, "a request failed");
  else ctx.deps.logger.warn(keys, "a request found something away");
}
