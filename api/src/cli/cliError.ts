/** Why a command ended: 2 is used for wrong options, 1 for everything unforeseen. */
export const exitCodes = { invalid: 2, exists: 3, not_found: 4, in_use: 5 } as const;

/** A refusal of the command line, with what programs need to go on: `exists` carries the id of what is there. */
export class CliError extends Error {
  override readonly name = "CliError";
  readonly code: keyof typeof exitCodes;
  readonly details: Record<string, string>;

  constructor(code: keyof typeof exitCodes, message: string, details: Record<string, string> = {}) {
    super(message);
    this.code = code;
    this.details = details;
  }
}
