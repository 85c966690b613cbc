import { createHash } from "node:crypto";
import type { AppContext } from "./appContext.ts";

/**
 * Responds with JSON that the browser may cache but must revalidate: 304 without a body when it is unchanged.
 */
export function respondCacheable(ctx: AppContext, body: unknown): void {
  respondCacheableText(ctx, JSON.stringify(body));
}

/** Responds like respondCacheable with JSON text. */
export function respondCacheableText(ctx: AppContext, text: string): void {
  respondTagged(ctx, etagOf(text), text);
}

/** Responds with JSON text under the given tag. */
export function respondTagged(ctx: AppContext, etag: string, text: string): void {
  ctx.status = 200;
  ctx.set("Cache-Control", "private, no-cache");
  if (respondUnchanged(ctx, etag)) return;
  ctx.type = "json";
  ctx.body = text;
}

/** Returns a weak entity tag: equal content, but not necessarily equal bytes. */
export function etagOf(content: string | Buffer): string {
  return `W/"${createHash("sha256").update(content).digest("base64url").slice(0, 22)}"`;
}

/**
 * Sets the tag, and responds with 304 when the client already has it. Koa's `fresh` also obeys
 * `Cache-Control: no-cache`, which scripts send with every conditional request.
 */
export function respondUnchanged(ctx: AppContext, etag: string): boolean {
  ctx.set("ETag", etag);
  const known = ctx
    .get("if-none-match")
    .split(",")
    .map((tag) => tag.trim());
  const isUnchanged =
    known.includes("*") || known.some((tag) => tag.replace(/^W\//, "") === etag.replace(/^W\//, ""));
  if (isUnchanged) ctx.status = 304;
  return isUnchanged;
}
