import type { SignInError } from "#contracts/http/auth.ts";

/** A failed sign-in at a provider; `reason` is all that the browser is told. */
export class OAuthFailure extends Error {
  override readonly name = "OAuthFailure";
  readonly reason: SignInError;
  /** Of the account that the provider told of, if it got that far. */
  readonly email: string | undefined;

  constructor(reason: SignInError, message: string, cause?: unknown, email?: string) {
    super(message, { cause });
    this.reason = reason;
    this.email = email;
  }
}

const lengthMax = 400;
/** A provider's error code. Any other text in its place may come from whoever made the address. */
const wordPattern = /^[a-z_]{1,40}$/;

/**
 * Returns what happened, for the log. The libraries' errors carry responses and addresses with secrets in
 * them, so only their messages are taken.
 */
export function sentenceOf(error: unknown): string {
  const sentences: string[] = [];
  for (let cause = error; cause instanceof Error && sentences.length < 5; cause = cause.cause) {
    const word =
      "error" in cause && typeof cause.error === "string" && wordPattern.test(cause.error)
        ? ` (${cause.error})`
        : "";
    // Its message quotes what could not be parsed, and that may be a token.
    sentences.push(cause instanceof SyntaxError ? "it is no JSON" : `${cause.message}${word}`);
  }
  return sentences
    .join(": ")
    .replaceAll(/[^\x20-\x7e]+/g, " ")
    .slice(0, lengthMax);
}
