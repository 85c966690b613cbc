import type { Next } from "koa";
import { randomBase32 } from "../base32.ts";
import type { AppContext } from "../routing/appContext.ts";

/** Gives every request an id, and one log line and one measurement when its answer has ended. */
export async function observeRequests(ctx: AppContext, next: Next): Promise<void> {
  const { clock, logger, metrics } = ctx.deps;
  const startedMs = clock.monotonicMs();
  ctx.state.requestId = randomBase32(20);
  ctx.set("X-Request-Id", ctx.state.requestId);
  ctx.res.once("close", () => {
    const seconds = (clock.monotonicMs() - startedMs) / 1000;
    const { requestId, route = "none", user, partner } = ctx.state;
    metrics.requestDone({ method: ctx.method, route, status: ctx.res.statusCode, seconds });
    logger.debug({
      requestId, method: ctx.method, route, status: ctx.res.statusCode, milliseconds: Math.round(seconds * 1000),
      ...(user && { user: user.id }), ...(partner && { partner: partner.id }), ...(!ctx.res.writableFinished && { isCut: true }),
    }, "request answered");
  });
  await next();
}
