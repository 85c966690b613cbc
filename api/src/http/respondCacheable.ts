import { createHash } from "node:crypto";
import type { AppContext } from "./appContext.ts";

/**
 * Responds with JSON that may be kept by the browser but must be asked for again: 304 without a body when it
 * is the same.
 */
export function respondCacheable(ctx: AppContext, body: unknown): void {
  respondCacheableText(ctx, JSON.stringify(body));
}

/** The same for a value that is already JSON text. */
export function respondCacheableText(ctx: AppContext, text: string): void {
  respondTagged(ctx, etagOf(text), text);
}

/** The same with JSON text under a tag of the caller's. */
export function respondTagged(ctx: AppContext, etag: string, text: string): void {
  ctx.status = 200;
  ctx.set("Cache-Control", "private, no-cache");
  if (respondUnchanged(ctx, etag)) return;
  ctx.type = "json";
  ctx.body = text;
}

/** A weak entity tag: says that the content is the same, not that every byte of the response is. */
export function etagOf(content: string | Buffer): string {
  return `W/"${createHash("sha256").update(content).digest("base64url").slice(0, 22)}"`;
}

/**
 * Sets the tag, and responds with 304 when the client has it already. Koa's own `fresh` also obeys
 * `Cache-Control: no-cache`, which scripts' requests carry whenever they ask with a tag.
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
