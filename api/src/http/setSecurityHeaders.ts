import type { Next } from "koa";
import { headersOfEveryAnswer } from "./responseHeaders.ts";
import type { AppContext } from "./appContext.ts";

/** Headers of every answer, errors included; a handler may set its own cache rule or, for pages, its own policy. */
export function setSecurityHeaders(ctx: AppContext, next: Next): Promise<void> {
  for (const [name, value] of headersOfEveryAnswer(ctx.deps.config)) ctx.res.setHeader(name, value);
  return next();
}
