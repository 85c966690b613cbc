import type { Next } from "koa";
import type { AppContext, HttpDeps } from "./appContext.ts";
import { apiVersion } from "#contracts/http/service.ts";
import { playerHeader } from "#contracts/http/auth.ts";
import { forbidden } from "../errors.ts";

/**
 * Sets the headers of every response, including errors. A handler may override the cache rule and, for pages,
 * the policy.
 */
export function setSecurityHeaders(ctx: AppContext<HttpDeps>, next: Next): Promise<void> {
  for (const [name, value] of headersOfEveryResponse(ctx.deps.config)) ctx.res.setHeader(name, value);
  return next();
}

type HeaderPairs = readonly (readonly [name: string, value: string])[];

const hstsSeconds = 365 * 24 * 3600;

const commonHeaders: HeaderPairs = Object.entries({
  "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
  "X-Content-Type-Options": "nosniff",
  "X-Frame-Options": "DENY",
  "Referrer-Policy": "no-referrer",
  "Cross-Origin-Resource-Policy": "same-origin",
  "Cache-Control": "no-store",
  "API-Version": apiVersion,
});

const secureHeaders: HeaderPairs = [
  ...commonHeaders,
  ["Strict-Transport-Security", `max-age=${hstsSeconds}; includeSubDomains`],
];

/**
 * Returns the headers of every response, including those outside the application. `isSecure` means that
 * browsers use https.
 */
export function headersOfEveryResponse({ isSecure }: { isSecure: boolean }): HeaderPairs {
  return isSecure ? secureHeaders : commonHeaders;
}

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
 * Allows CORS for ALLOWED_ORIGINS, by default for no origin. Partner routes never allow it, because partner
 * keys do not belong in pages.
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

/** Throws forbidden for a write that another site's page sends with the player's cookie. */
export function requireTrustedOrigin(ctx: AppContext<HttpDeps>): void {
  if (!isTrustedOrigin(ctx)) throw forbidden("The request came from a page of another site.");
}

/**
 * Returns whether the request is a read, or a write that was not sent by another site's page. Browsers send
 * the page's origin. Programs without an origin are not browsers and send only their own cookies.
 */
export function isTrustedOrigin(ctx: AppContext<HttpDeps>): boolean {
  if (ctx.method === "GET" || ctx.method === "HEAD") return true;
  const { origin, "sec-fetch-site": site } = ctx.req.headers;
  return origin === undefined ? site !== "cross-site" : ctx.deps.config.allowedOrigins.has(origin);
}
