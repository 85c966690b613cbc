import { limits } from "#contracts/limits.ts";
import { DomainError } from "../errors.ts";
import type { PartnerPrincipal } from "../partners/requirePartner.ts";
import type { Queryable } from "../stores/queryable.ts";
import { countPartnerGames } from "./partnerGameQueries.ts";

/**
 * Throws conflict when the partner has as many games as there may be: all of them are one response. The
 * transaction has locked the partner's games: each of several at once would find the last place free.
 */
export async function requireRoom(
  transaction: Queryable,
  partner: Pick<PartnerPrincipal, "id">,
): Promise<void> {
  if ((await countPartnerGames(transaction, partner.id)) < limits.partner.games) return;
  throw new DomainError("conflict", {
    message: `You have ${limits.partner.games} games, which are as many as there may be: delete one before.`,
  });
}
