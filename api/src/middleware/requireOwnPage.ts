import { forbidden } from "../errors.ts";
import type { AppContext } from "../routing/appContext.ts";

/**
 * Refuses writes that another site's page sends with the player's cookie. Browsers name the page's origin; a program
 * that names none is no browser and has no cookie but its own.
 */
export function requireOwnPage(ctx: AppContext): void {
  if (ctx.method === "GET" || ctx.method === "HEAD") return;
  const { origin, "sec-fetch-site": site } = ctx.req.headers;
  const isForeign = origin === undefined ? site === "cross-site" : !ctx.deps.config.allowedOrigins.has(origin);
  if (isForeign) throw forbidden("This request came from a page of another site.");
}
