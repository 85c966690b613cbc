import type { Next } from "koa";
import type { AppContext, HttpDeps } from "./appContext.ts";
import { errorBodyOf, HttpError, toHttpError } from "./httpError.ts";
import { discardBody } from "./body.ts";

/** Application-specific error handling. */
interface ErrorHandling<D> {
  /** Translates a store's error to a DomainError; returns other errors unchanged. */
  translate: (error: unknown) => unknown;
  /** Called with every error response. */
  onErrorResponse: (ctx: AppContext<D>, error: HttpError) => void;
}

/**
 * Turns errors into responses, in this single place. Unexpected errors are logged, and the response contains
 * only their request id. Later middleware can rely on a valid path.
 */
export function handleErrors<D extends HttpDeps>({
  translate,
  onErrorResponse,
}: ErrorHandling<D>): (ctx: AppContext<D>, next: Next) => Promise<void> {
  return async (ctx, next) => {
    try {
      if (requestedPath(ctx) === undefined)
        throw new HttpError("invalid_request", { headers: { Connection: "close" } });
      await next();
      if (ctx.status === 404 && ctx.body === undefined)
        throw new HttpError("not_found", { message: "There is nothing at this address." });
    } catch (thrown) {
      const error = toHttpError(translate(thrown));
      if (error.status >= 500) logFault(ctx, error, thrown);
      else onErrorResponse(ctx, error);
      ctx.status = error.status;
      ctx.set({ ...error.headers });
      ctx.body = errorBodyOf({ path: requestedPath(ctx), requestId: ctx.state.requestId }, error);
      await discardBody(ctx);
    }
  };
}

function logFault(ctx: AppContext<HttpDeps>, { code }: HttpError, thrown: unknown): void {
  const keys = { err: thrown, requestId: ctx.state.requestId, route: ctx.state.route ?? ctx.method };
  if (code === "internal_error") ctx.deps.logger.error(keys, "A request failed.");
  else ctx.deps.logger.warn(keys, "A request failed because a dependency is unavailable.");
}

/** Returns the path of a request; undefined when the target is invalid, such as `http://[::1`. */
function requestedPath(ctx: AppContext): string | undefined {
  try {
    const path = ctx.path as string | null;
    return path?.startsWith("/") === true || path === "*" ? path : undefined;
  } catch {
    return undefined;
  }
}
