import { createHash } from "node:crypto";
import { DomainError } from "../errors.ts";
import type { AppContext } from "../http/appContext.ts";

/** A game at one of its revisions. */
interface RevisedGame {
  id: string;
  revision: number;
}

/** Throws precondition_failed when the client means another state of the game than this. */
export type GamePrecondition = (game: RevisedGame) => void;

/**
 * The entity tag of a game's detail: the game's own state, then what the servers say of it. A change is made for the former
 * alone, for it would be refused at random if it mattered how far an archive has come.
 */
export function gameTag(game: RevisedGame, cacheStatus: unknown): string {
  return `W/"${stateOf(game)}.${createHash("sha256").update(JSON.stringify(cacheStatus)).digest("base64url").slice(0, 8)}"`;
}

/** The request's `If-Match`; undefined when the client does not care. Compared weakly: these tags are all weak. */
export function gamePreconditionOf(ctx: AppContext): GamePrecondition | undefined {
  const header = ctx.req.headers["if-match"];
  if (header === undefined) return undefined;
  const states = header.split(",").map((tag) => /^\s*(?:W\/)?"([^".]+)[^"]*"\s*$/.exec(tag)?.[1]);
  return (game) => {
    if (header.trim() !== "*" && !states.includes(stateOf(game))) throw preconditionFailed();
  };
}

/** 412: read it again and decide anew. */
export function preconditionFailed(): DomainError {
  return new DomainError("precondition_failed", { message: "The game has changed since you read it: read it again, then repeat the request with its new ETag." });
}

function stateOf({ id, revision }: RevisedGame): string {
  return createHash("sha256").update(`${id} ${revision}`).digest("base64url").slice(0, 16);
}
