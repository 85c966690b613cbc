import { createHash } from "node:crypto";
import type { PartnerGameDetail } from "#contracts/http/partners.ts";
import { DomainError } from "../errors.ts";
import type { AppContext } from "../http/appContext.ts";

/** A game at one of its revisions. */
interface RevisedGame {
  id: string;
  revision: number;
}

/** Throws precondition_failed when `If-Match` names another revision of the game. */
export type GamePrecondition = (game: RevisedGame) => void;

/**
 * Returns the entity tag of a game's detail: the revision, and a digest of the whole detail, which also
 * depends on nodes, the service's address and the release. `If-Match` compares only the revision, so a change
 * is not refused because the archive reached another node.
 */
export function gameEtag(game: RevisedGame, detail: PartnerGameDetail): string {
  return `W/"${stateOf(game)}.${createHash("sha256").update(JSON.stringify(detail)).digest("base64url").slice(0, 8)}"`;
}

/**
 * Returns a check for the request's `If-Match`; undefined without one, and for `*`, which every existing game
 * matches. Comparison is weak, because all tags are weak.
 */
export function gamePreconditionOf(ctx: AppContext): GamePrecondition | undefined {
  const header = ctx.req.headers["if-match"];
  if (header === undefined || header.trim() === "*") return undefined;
  const states = header.split(",").map((tag) => /^\s*(?:W\/)?"([^".]+)[^"]*"\s*$/.exec(tag)?.[1]);
  return (game) => {
    if (!states.includes(stateOf(game))) throw preconditionFailed();
  };
}

/** Returns the 412 error, which tells the client to read the game again. */
function preconditionFailed(): DomainError {
  return new DomainError("precondition_failed", {
    message:
      "The game has changed since you read it. Read it again, then repeat the request with the new ETag.",
  });
}

function stateOf({ id, revision }: RevisedGame): string {
  return createHash("sha256").update(`${id} ${revision}`).digest("base64url").slice(0, 16);
}
