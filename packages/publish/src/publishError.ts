/** Exit codes: 1 if publishing failed, 2 for invalid usage, 130 if the person interrupted it. */
export const exitCodes = { failed: 1, usage: 2, interrupted: 130 } as const;

/** An error for the person who publishes. The message says what happened and what to do. */
export class PublishError extends Error {
  override readonly name: string = "PublishError";
  /** A code for programs. Errors of the server keep the server's code. */
  readonly code: string;
  readonly exitCode: number;
  /** What exactly is wrong, such as the files that cannot be packed. */
  readonly details: readonly string[];
  /** What was achieved before, for `--json`. */
  readonly result: object;

  constructor(
    code: string,
    message: string,
    {
      exitCode = exitCodes.failed,
      details = [],
      result = {},
      cause,
    }: { exitCode?: number; details?: readonly string[]; result?: object; cause?: unknown } = {},
  ) {
    super(message, { cause });
    this.code = code;
    this.exitCode = exitCode;
    this.details = details;
    this.result = result;
  }
}

/** Returns an error for invalid arguments or settings. */
export function usageError(message: string): PublishError {
  return new PublishError("usage", message, { exitCode: exitCodes.usage });
}
