import { createHash } from "node:crypto";
import type { AppContext } from "./appContext.ts";

/** Answers with JSON that may be kept by the browser but must be asked for again: 304 without a body when it is the same. */
export function answerCacheable(ctx: AppContext, body: unknown): void {
  const text = JSON.stringify(body);
  ctx.status = 200;
  ctx.set("Cache-Control", "private, no-cache");
  ctx.set("ETag", `W/"${createHash("sha256").update(text).digest("base64url").slice(0, 22)}"`);
  if (ctx.fresh) {
    ctx.status = 304;
    return;
  }
  ctx.type = "json";
  ctx.body = text;
}
