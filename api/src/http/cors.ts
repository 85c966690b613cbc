import type { Next } from "koa";
import type { AppContext, HttpDeps } from "./appContext.ts";

const exposedHeaders = ["API-Version", "ETag", "Link", "Location", "RateLimit", "RateLimit-Policy", "Retry-After", "X-Request-Id"].join(", ");
const preflightSeconds = 600;

/**
 * CORS for the pages of ALLOWED_ORIGINS and for nobody else: by default there is none. A partner's key does not belong into a
 * page, so their routes have none at all.
 */
export function cors(ctx: AppContext<HttpDeps>, next: Next): Promise<void> {
  const { allowedOrigins, baseUrl } = ctx.deps.config;
  const hasOthers = allowedOrigins.size > 1;
  if (hasOthers && ctx.path.startsWith("/api/") && !ctx.path.startsWith("/api/partners/")) {
    ctx.vary("Origin");
    const { origin } = ctx.req.headers;
    if (origin !== undefined && origin !== baseUrl && allowedOrigins.has(origin)) allow(ctx, origin);
  }
  return next();
}

function allow(ctx: AppContext, origin: string): void {
  ctx.set({ "Access-Control-Allow-Origin": origin, "Access-Control-Allow-Credentials": "true", "Access-Control-Expose-Headers": exposedHeaders });
  if (ctx.method !== "OPTIONS") return;
  ctx.set({
    "Access-Control-Allow-Methods": "GET, POST, DELETE",
    "Access-Control-Allow-Headers": "Authorization, Content-Type, Idempotency-Key, X-Auth-Return-Redirect",
    "Access-Control-Max-Age": String(preflightSeconds),
  });
}
