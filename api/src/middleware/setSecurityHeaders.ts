import type { Next } from "koa";
import { apiVersion } from "#contracts/http/version.ts";
import type { AppContext } from "../routing/appContext.ts";

const hstsSeconds = 365 * 24 * 3600;

const everywhere = Object.entries({
  "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
  "X-Content-Type-Options": "nosniff",
  "X-Frame-Options": "DENY",
  "Referrer-Policy": "no-referrer",
  "Cross-Origin-Resource-Policy": "same-origin",
  "Cache-Control": "no-store",
  "API-Version": apiVersion,
});

/** Headers of every answer, errors included; a handler may set its own cache rule or, for pages, its own policy. */
export async function setSecurityHeaders(ctx: AppContext, next: Next): Promise<void> {
  for (const [name, value] of everywhere) ctx.res.setHeader(name, value);
  if (ctx.deps.config.isSecure) ctx.set("Strict-Transport-Security", `max-age=${hstsSeconds}; includeSubDomains`);
  await next();
}
