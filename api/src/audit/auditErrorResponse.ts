import type { HttpError } from "../errors.ts";
import type { AppContext } from "../http/appContext.ts";
import type { RateLimitOutcome } from "../http/rateLimits.ts";
import type { AuditEvent } from "./audit.ts";

/** Records that somebody was refused: another site's page, a suspended partner, an invalid API key. */
export function auditRefusal(ctx: AppContext, { code }: HttpError): void {
  const isBadKey = code === "unauthorized" && ctx.path.startsWith("/api/partners") && ctx.get("authorization") !== "";
  if (code !== "forbidden" && code !== "csrf" && !isBadKey) return;
  const route = ctx.state.route ?? "none";
  ctx.deps.audit.recordRarely(`access.refused ${code} ${route}`, { ...eventOf(ctx), action: "access.refused", details: { code, route } });
}

/** Records which limits were reached: once for each window, by the process that refuses first. */
export function auditLimits(ctx: AppContext, outcomes: readonly RateLimitOutcome[]): void {
  for (const { name, isFirstRefusal } of outcomes) {
    if (isFirstRefusal) ctx.deps.audit.recordLater({ ...eventOf(ctx), action: "limit.reached", details: { limit: name } });
  }
}

function eventOf({ state: { user, partner, requestId }, ip }: AppContext): Omit<AuditEvent, "action"> {
  return { actor: actorOf(user, partner), address: ip, requestId };
}

function actorOf(user: { id: string } | undefined, partner: { id: string } | undefined): AuditEvent["actor"] {
  if (user !== undefined) return { kind: "user", id: user.id };
  return partner === undefined ? { kind: "anonymous" } : { kind: "partner", id: partner.id };
}
