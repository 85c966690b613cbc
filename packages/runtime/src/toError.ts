/** Returns what was thrown, as an error: itself, or one that says what it was. */
export function toError(cause: unknown): Error {
  return cause instanceof Error ? cause : new Error(String(cause));
}

/** Returns what an error says, or what else was thrown as text. */
export function messageOf(cause: unknown): string {
  return toError(cause).message;
}
