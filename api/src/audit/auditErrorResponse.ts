import type { AppContext, Principal } from "../http/appContext.ts";
import { RateLimitError } from "../http/applyRateLimits.ts";
import type { HttpError } from "../http/httpError.ts";
import type { RateLimitOutcome } from "../http/rateLimits.ts";
import type { Audit, AuditEvent } from "./audit.ts";

/** A request whose outcome is audited. */
type AuditContext = AppContext<{ audit: Audit }>;

/** Records refused requests: a wrong credential, a foreign origin, or an exhausted limit. */
export function auditErrorResponse(ctx: AuditContext, error: HttpError): void {
  if (error instanceof RateLimitError) auditLimits(ctx, error.exceeded);
  else auditRefused(ctx, error);
}

/** Records exhausted limits, once per window, by the process that refuses first. */
export function auditLimits(ctx: AuditContext, outcomes: readonly RateLimitOutcome[]): void {
  for (const { name, isFirstOverLimit } of outcomes) {
    if (isFirstOverLimit)
      ctx.deps.audit.recordLater({ ...eventOf(ctx), action: "limit.reached", details: { limit: name } });
  }
}

/**
 * Records requests that were refused because of another site's page, a suspended partner or an invalid API
 * key.
 */
function auditRefused(ctx: AuditContext, { code }: HttpError): void {
  const isBadKey =
    code === "unauthorized" && ctx.path.startsWith("/api/partners") && ctx.get("authorization") !== "";
  if (code !== "forbidden" && code !== "csrf" && !isBadKey) return;
  const route = ctx.state.route ?? "none";
  ctx.deps.audit.recordRarely(`access.refused ${code} ${route}`, {
    ...eventOf(ctx),
    action: "access.refused",
    details: { code, route },
  });
}

function eventOf({ state: { principal, requestId }, ip }: AuditContext): Omit<AuditEvent, "action"> {
  return { actor: actorOf(principal), address: ip, requestId };
}

function actorOf(principal: Principal | undefined): AuditEvent["actor"] {
  return principal ?? { kind: "anonymous" };
}
