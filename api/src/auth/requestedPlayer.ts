import { playerHeader } from "#contracts/http/auth.ts";
import type { AppContext } from "../http/appContext.ts";

/**
 * Whether a request is for who is signed in, or does not say for whom. A page may go on to show one player
 * when another has signed in with the same cookies, in a window beside it.
 */
export function isForPlayer(ctx: AppContext, user: { id: string } | undefined): boolean {
  const playerId = ctx.get(playerHeader);
  return playerId === "" || playerId === user?.id;
}
