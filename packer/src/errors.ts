/** Longest message that the spool's schemas take. */
const messageLength = 1024;

/** Something could not be done, for a reason that the session's owner is told. */
export class Refusal extends Error {
  readonly reason: string;

  constructor(reason: string, message: string, options?: ErrorOptions) {
    super(message.slice(0, messageLength), options);
    this.name = "Refusal";
    this.reason = reason;
  }
}

/** Returns the code of a system call's error; undefined for any other. */
export function codeOf(error: unknown): string | undefined {
  return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : undefined;
}
