import type { ErrorBody, ErrorCode } from "#contracts/http/errors.ts";
import type { Next } from "koa";
import type { AppContext, HttpDeps } from "./appContext.ts";
import { HttpError, toHttpError } from "./httpError.ts";
import { requestedPath } from "./requestedPath.ts";

/** What the application knows of errors and HTTP does not. */
export interface ErrorHandling<D> {
  /** Returns the DomainError that an error of the stores means, or the error itself. */
  translate: (error: unknown) => unknown;
  /** Called with every response to a request that was refused. */
  onErrorResponse: (ctx: AppContext<D>, error: HttpError) => void;
}

/**
 * The one place where an error becomes a response. An unforeseen one is logged, and told only as a request id. What comes after this can rely on
 * the request's path.
 */
export function handleErrors<D extends HttpDeps>({ translate, onErrorResponse }: ErrorHandling<D>): (ctx: AppContext<D>, next: Next) => Promise<void> {
  return async (ctx, next) => {
    try {
      if (requestedPath(ctx) === undefined) throw new HttpError("invalid_request", { headers: { Connection: "close" } });
      await next();
      if (ctx.status === 404 && ctx.body === undefined) throw new HttpError("not_found", { message: "There is nothing at this address." });
    } catch (thrown) {
      const error = toHttpError(translate(thrown));
      if (error.status >= 500) logFault(ctx, error, thrown);
      else onErrorResponse(ctx, error);
      ctx.status = error.status;
      ctx.set({ ...error.headers });
      ctx.body = bodyOf(ctx, error);
    }
  };
}

function bodyOf(ctx: AppContext, { code, message, hasMessage, details, extra }: HttpError): ErrorBody {
  const isPartner = requestedPath(ctx)?.startsWith("/api/partners") === true;
  // The specification gives the whole body; forms alone add where the browser would have been sent.
  if (code === "unauthorized" && !isPartner) return { error: code, ...extra };
  const needsMessage = hasMessage || isPartner || code === "internal_error";
  // Partners' error responses have the form of the specification; the id is in a header. A fault of ours must be reportable.
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

function logFault(ctx: AppContext<HttpDeps>, { code }: HttpError, thrown: unknown): void {
  const keys = { err: thrown, requestId: ctx.state.requestId, route: ctx.state.route ?? ctx.method };
  if (code === "internal_error") ctx.deps.logger.error(keys, "A request failed.");
  else ctx.deps.logger.warn(keys, "A request needed something that is unavailable.");
}
