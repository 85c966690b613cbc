import type { Next } from "koa";
import { playerHeader } from "#contracts/http/auth.ts";
import type { AppContext, HttpDeps } from "./appContext.ts";

const exposedHeaders = [
  "API-Version",
  "Content-Disposition",
  "ETag",
  "Idempotency-Replayed",
  "Link",
  "Location",
  "RateLimit",
  "RateLimit-Policy",
  "Repr-Digest",
  "Retry-After",
  "X-Request-Id",
].join(", ");
const allowedHeaders = [
  "Authorization",
  "Content-Digest",
  "Content-Type",
  "Idempotency-Key",
  "If-None-Match",
  playerHeader,
  "Last-Event-ID",
  "Repr-Digest",
  "X-Auth-Return-Redirect",
].join(", ");
const preflightSeconds = 600;

/**
 * CORS for the pages of ALLOWED_ORIGINS and for nobody else: by default there is none. A partner's key does
 * not belong into a page, so their routes have none at all.
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
  ctx.set({
    "Access-Control-Allow-Origin": origin,
    "Access-Control-Allow-Credentials": "true",
    "Access-Control-Expose-Headers": exposedHeaders,
  });
  if (ctx.method !== "OPTIONS") return;
  ctx.set({
    "Access-Control-Allow-Methods": "GET, POST, PUT, PATCH, DELETE",
    "Access-Control-Allow-Headers": allowedHeaders,
    "Access-Control-Max-Age": String(preflightSeconds),
  });
}
