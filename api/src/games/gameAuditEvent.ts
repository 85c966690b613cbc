import type { PartnerPrincipal } from "../partners/requirePartner.ts";
import type { AuditEvent } from "../audit/audit.ts";

/** What a partner's request did to one of their games, for the audit trail. */
export function gameEvent(
  action: `game.${string}`, partner: PartnerPrincipal, gameId: string, details?: AuditEvent["details"],
): AuditEvent {
  const event = { action, actor: { kind: "partner", id: partner.id }, ...partner.request, subject: { kind: "game", id: gameId } } as const;
  return details === undefined ? event : { ...event, details };
}
