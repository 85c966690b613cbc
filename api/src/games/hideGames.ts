import { requiredLine } from "#contracts/http/text.ts";
import { limits } from "#contracts/limits.ts";
import type { Audit } from "../audit/audit.ts";
import { invalidRequest, notFound } from "../errors.ts";
import type { Postgres } from "../stores/postgres.ts";
import {
  updateGameHidden,
  updateGameUnhidden,
  updatePartnerGamesHidden,
  updatePartnerGamesUnhidden,
} from "./hideGameQueries.ts";

/** Dependencies of hiding games. */
interface HideGameDeps {
  postgres: Postgres;
  audit: Audit;
}

/** A game after the change. */
interface HiddenGame {
  id: string;
  slug: string;
  /** Null unless the game is hidden. */
  hiddenAt: string | null;
  reason: string | null;
}

/**
 * Hides a game from players from their next request on. Running sessions continue, and its partner sees the
 * reason. Hiding a hidden game replaces the reason.
 *
 * @throws not_found, invalid_request for a reason that is empty, too long or not one line
 */
export async function hideGame(
  { postgres, audit }: HideGameDeps,
  slug: string,
  typedReason?: string,
): Promise<HiddenGame> {
  const reason = parseReason(typedReason);
  const game = await updateGameHidden(postgres.pool, slug, reason);
  if (game === undefined) throw notFound(`There is no game ${slug}.`);
  await recordChange(audit, "game.hidden", game.id, reason);
  return { id: game.id, slug, hiddenAt: game.hiddenAt.toISOString(), reason };
}

/**
 * Shows a hidden game to players again.
 *
 * @throws not_found
 */
export async function unhideGame({ postgres, audit }: HideGameDeps, slug: string): Promise<HiddenGame> {
  const game = await updateGameUnhidden(postgres.pool, slug);
  if (game === undefined) throw notFound(`There is no game ${slug}.`);
  if (game.isChanged) await recordChange(audit, "game.unhidden", game.id, null);
  return { id: game.id, slug, hiddenAt: null, reason: null };
}

/**
 * Hides all games of a partner that are not hidden yet, and returns their slugs.
 *
 * @throws invalid_request for an invalid reason
 */
export async function hidePartnerGames(
  { postgres, audit }: HideGameDeps,
  partnerId: string,
  typedReason?: string,
): Promise<string[]> {
  const reason = parseReason(typedReason);
  const games = await updatePartnerGamesHidden(postgres.pool, partnerId, reason);
  for (const { id } of games) await recordChange(audit, "game.hidden", id, reason);
  return games.map(({ slug }) => slug).sort();
}

/** Shows those games again that `hidePartnerGames` has hidden, and returns their slugs. */
export async function unhidePartnerGames(
  { postgres, audit }: HideGameDeps,
  partnerId: string,
): Promise<string[]> {
  const games = await updatePartnerGamesUnhidden(postgres.pool, partnerId);
  for (const { id } of games) await recordChange(audit, "game.unhidden", id, null);
  return games.map(({ slug }) => slug).sort();
}

function parseReason(reason: string | undefined): string | null {
  if (reason === undefined) return null;
  const { data } = requiredLine(limits.admin.reasonMaxLength).safeParse(reason);
  if (data === undefined)
    throw invalidRequest(`The reason must have 1 to ${limits.admin.reasonMaxLength} characters in one line.`);
  return data;
}

async function recordChange(audit: Audit, action: string, id: string, reason: string | null): Promise<void> {
  await audit.record({
    action,
    actor: { kind: "operator" },
    subject: { kind: "game", id },
    ...(reason !== null && { details: { reason } }),
  });
}
