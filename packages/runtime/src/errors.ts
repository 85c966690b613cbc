/** Disk errors that Node.js knows only by number. They are the same on all supported architectures. */
const namelessCodes: ReadonlyMap<unknown, string> = new Map([
  [-74, "EBADMSG"],
  [-117, "EUCLEAN"],
  [-122, "EDQUOT"],
]);

/** Returns the code of a system call error, for example ENOENT; undefined for other errors. */
export function systemErrorCode(error: unknown): string | undefined {
  if (!(error instanceof Error) || !("code" in error) || typeof error.code !== "string") return undefined;
  return "errno" in error ? (namelessCodes.get(error.errno) ?? error.code) : error.code;
}

/** Converts a thrown value to an Error. */
export function toError(cause: unknown): Error {
  return cause instanceof Error ? cause : new Error(String(cause));
}

/** Returns the message of an error or other thrown value. */
export function messageOf(cause: unknown): string {
  return toError(cause).message;
}
