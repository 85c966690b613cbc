import type { Next } from "koa";
import type { AppContext, HttpDeps } from "./appContext.ts";
import { apiVersion } from "#contracts/http/service.ts";
import { playerHeader } from "#contracts/http/auth.ts";
import { forbidden } from "../errors.ts";

/**
 * Sets the headers of every response, errors included; a handler may set its own cache rule or, for pages,
 * its own policy.
 */
export function setSecurityHeaders(ctx: AppContext<HttpDeps>, next: Next): Promise<void> {
  for (const [name, value] of headersOfEveryResponse(ctx.deps.config)) ctx.res.setHeader(name, value);
  return next();
}

type HeaderPairs = readonly (readonly [name: string, value: string])[];

const hstsSeconds = 365 * 24 * 3600;

const everywhere: HeaderPairs = Object.entries({
  "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
  "X-Content-Type-Options": "nosniff",
  "X-Frame-Options": "DENY",
  "Referrer-Policy": "no-referrer",
  "Cross-Origin-Resource-Policy": "same-origin",
  "Cache-Control": "no-store",
  "API-Version": apiVersion,
});

const everywhereSecure: HeaderPairs = [
  ...everywhere,
  ["Strict-Transport-Security", `max-age=${hstsSeconds}; includeSubDomains`],
];

/**
 * Headers of every response, also of those that the server makes without the application; `isSecure` where
 * browsers come by https.
 */
export function headersOfEveryResponse({ isSecure }: { isSecure: boolean }): HeaderPairs {
  return isSecure ? everywhereSecure : everywhere;
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
