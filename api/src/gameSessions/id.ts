import { randomBase32 } from "#runtime/base32.ts";

/** A new game session's id: the name of its row, its GameSession and its pod. */
export function newGameSessionId(): string {
  return `gs-${randomBase32(20)}`;
}
