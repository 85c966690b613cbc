import type { Next } from "koa";
import { randomBase32 } from "#runtime/base32.ts";
import type { AppContext, HttpDeps } from "./appContext.ts";
import { isBodyUnread } from "./body.ts";

/** Format of an accepted caller's request id. It must be harmless in the log and the audit trail. */
const idPattern = /^[A-Za-z0-9][A-Za-z0-9._-]{7,63}$/;

/**
 * Status for requests whose client left before the response, as nginx uses it. Koa's initial 404 was never
 * sent.
 */
const clientLeft = 499;

/** Assigns an id to every request, and writes one log line and one measurement at the end of its response. */
export async function observeRequests(ctx: AppContext<HttpDeps>, next: Next): Promise<void> {
  const { clock, lifecycle } = ctx.deps;
  const startedMs = clock.monotonicMs();
  const given = ctx.req.headers["x-request-id"];
  ctx.state.requestId = typeof given === "string" && idPattern.test(given) ? given : randomBase32(20);
  ctx.res.setHeader("X-Request-Id", ctx.state.requestId);
  ctx.res.once("close", () => observe(ctx, (clock.monotonicMs() - startedMs) / 1000));
  await next();
  // Clients of a stopping process must reconnect elsewhere. An unread body would be parsed as the next
  // request, or continue for gigabytes.
  if (lifecycle.isStopping || isBodyUnread(ctx)) ctx.set("Connection", "close");
}

function observe(
  { deps: { logger, metrics }, method, res, state }: AppContext<HttpDeps>,
  seconds: number,
): void {
  const { requestId, route = "none", principal } = state;
  const status = res.headersSent ? res.statusCode : clientLeft;
  metrics.requestDone({ method, route, status, seconds });
  if (!logger.isLevelEnabled("debug")) return;
  logger.debug(
    {
      requestId,
      method,
      route,
      status,
      milliseconds: Math.round(seconds * 1000),
      ...(principal && { [principal.kind]: principal.id }),
      ...(!res.writableFinished && { isCut: true }),
    },
    "A request has ended.",
  );
}
