/** Errors of a disk that Node knows by number only. They are the same on every processor that we run on. */
const namelessCodes: ReadonlyMap<unknown, string> = new Map([
  [-74, "EBADMSG"],
  [-117, "EUCLEAN"],
  [-122, "EDQUOT"],
]);

/** Returns the code of a system call's error, such as ENOENT; undefined for any other. */
export function systemErrorCode(error: unknown): string | undefined {
  if (!(error instanceof Error) || !("code" in error) || typeof error.code !== "string") return undefined;
  return "errno" in error ? (namelessCodes.get(error.errno) ?? error.code) : error.code;
}

/** Returns what was thrown, as an error: itself, or one that says what it was. */
export function toError(cause: unknown): Error {
  return cause instanceof Error ? cause : new Error(String(cause));
}

/** Returns what an error says, or what else was thrown as text. */
export function messageOf(cause: unknown): string {
  return toError(cause).message;
}
