import { forbidden } from "../errors.ts";
import type { AppContext, HttpDeps } from "./appContext.ts";

/** Throws forbidden for a write that another site's page sends with the player's cookie. */
export function requireTrustedOrigin(ctx: AppContext<HttpDeps>): void {
  if (!isTrustedOrigin(ctx)) throw forbidden("This request came from a page of another site.");
}

/**
 * Returns whether the request is a read, or a write that no other site's page sent. Browsers name the page's
 * origin. A program that names none is no browser, and sends no cookie but its own.
 */
export function isTrustedOrigin(ctx: AppContext<HttpDeps>): boolean {
  if (ctx.method === "GET" || ctx.method === "HEAD") return true;
  const { origin, "sec-fetch-site": site } = ctx.req.headers;
  return origin === undefined ? site !== "cross-site" : ctx.deps.config.allowedOrigins.has(origin);
}
