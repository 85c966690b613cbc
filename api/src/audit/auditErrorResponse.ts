import type { AppContext, Principal } from "../http/appContext.ts";
import { RateLimitError } from "../http/applyRateLimits.ts";
import type { HttpError } from "../http/httpError.ts";
import type { RateLimitOutcome } from "../http/rateLimits.ts";
import type { Audit, AuditEvent } from "./audit.ts";

/** A request whose outcome goes to the audit trail. */
type AuditContext = AppContext<{ audit: Audit }>;

/** Notes in the audit trail what an error response tells of its caller: a credential that does not fit, or a limit that is used up. */
export function auditErrorResponse(ctx: AuditContext, error: HttpError): void {
  if (error instanceof RateLimitError) auditLimits(ctx, error.exceeded);
  else auditRefused(ctx, error);
}

/** Notes which limits were used up: once for each window, by whichever process refuses first. */
export function auditLimits(ctx: AuditContext, outcomes: readonly RateLimitOutcome[]): void {
  for (const { name, isFirstRefusal } of outcomes) {
    if (isFirstRefusal) ctx.deps.audit.recordLater({ ...eventOf(ctx), action: "limit.reached", details: { limit: name } });
  }
}

/** Somebody was refused what is not theirs: another site's page, a suspended partner, a key that is none. */
function auditRefused(ctx: AuditContext, { code }: HttpError): void {
  const isBadKey = code === "unauthorized" && ctx.path.startsWith("/api/partners") && ctx.get("authorization") !== "";
  if (code !== "forbidden" && code !== "csrf" && !isBadKey) return;
  const route = ctx.state.route ?? "none";
  ctx.deps.audit.recordRarely(`access.refused ${code} ${route}`, { ...eventOf(ctx), action: "access.refused", details: { code, route } });
}

function eventOf({ state: { principal, requestId }, ip }: AuditContext): Omit<AuditEvent, "action"> {
  return { actor: actorOf(principal), address: ip, requestId };
}

function actorOf(principal: Principal | undefined): AuditEvent["actor"] {
  return principal ?? { kind: "anonymous" };
}
