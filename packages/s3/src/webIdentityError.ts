/** Why a token was not exchanged for temporary keys. */
export type WebIdentityFailure = "NoToken" | "Unreachable" | "Refused";

/** A token was not exchanged for temporary keys. Its message holds neither. */
export class WebIdentityError extends Error {
  readonly failure: WebIdentityFailure;
  /** The token service's own word for it. */
  readonly code: string | undefined;

  constructor(failure: WebIdentityFailure, message: string, cause?: unknown, code?: string) {
    super(message, { cause });
    this.name = "WebIdentityError";
    this.failure = failure;
    this.code = code;
  }
}
