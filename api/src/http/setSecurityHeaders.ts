import type { Next } from "koa";
import { headersOfEveryResponse } from "./headersOfEveryResponse.ts";
import type { AppContext, HttpDeps } from "./appContext.ts";

/**
 * Sets the headers of every response, errors included; a handler may set its own cache rule or, for pages,
 * its own policy.
 */
export function setSecurityHeaders(ctx: AppContext<HttpDeps>, next: Next): Promise<void> {
  for (const [name, value] of headersOfEveryResponse(ctx.deps.config)) ctx.res.setHeader(name, value);
  return next();
}
