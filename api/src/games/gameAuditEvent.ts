import type { PartnerPrincipal } from "../partners/requirePartner.ts";
import type { AuditEvent } from "../audit/audit.ts";

/** Returns the audit event of a partner's change of one of their games. */
export function gameAuditEvent(
  action: `game.${string}`,
  partner: PartnerPrincipal,
  gameId: string,
  details?: AuditEvent["details"],
): AuditEvent {
  const event = {
    action,
    actor: { kind: "partner", id: partner.id },
    ...partner.request,
    subject: { kind: "game", id: gameId },
  } as const;
  return details === undefined ? event : { ...event, details };
}
