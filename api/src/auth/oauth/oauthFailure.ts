import type { SignInError } from "#contracts/http/auth.ts";

/** A sign-in through a provider that came to nothing; `reason` is all that the browser is told. */
export class OAuthFailure extends Error {
  override readonly name = "OAuthFailure";
  readonly reason: SignInError;

  constructor(reason: SignInError, message: string, cause?: unknown) {
    super(message, { cause });
    this.reason = reason;
  }
}

const lengthMax = 400;
/** A provider's word for what is wrong; anything else is text of whoever made the address. */
const wordPattern = /^[a-z_]{1,40}$/;

/**
 * What happened, for the log. The libraries' errors carry answers and addresses with secrets in them, so that only their
 * sentences are taken.
 */
export function sentenceOf(error: unknown): string {
  const sentences: string[] = [];
  for (let cause = error; cause instanceof Error && sentences.length < 5; cause = cause.cause) {
    const word = "error" in cause && typeof cause.error === "string" && wordPattern.test(cause.error) ? ` (${cause.error})` : "";
    // It quotes what could not be parsed, and that may be a token.
    sentences.push(cause instanceof SyntaxError ? "it is no JSON" : `${cause.message}${word}`);
  }
  return sentences.join(": ").replaceAll(/[^\x20-\x7e]+/g, " ").slice(0, lengthMax);
}
