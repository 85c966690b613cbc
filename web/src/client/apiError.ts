import { signInErrorSentences } from "#contracts/http/auth.ts";
import type { ErrorCode } from "#contracts/http/errors.ts";

/** The API's error codes, and three more: no response at all, a response that breaks the contract, and an external provider that is unavailable. */
export type ApiErrorCode = ErrorCode | "unreachable" | "unexpected" | "provider_unavailable";

/** An error response, or a request that failed. Code decides by `code`; players read what `sentenceFor` returns. */
export class ApiError extends Error {
  override readonly name = "ApiError";
  readonly code: ApiErrorCode;
  /** From Retry-After, if the response had that header. */
  readonly retryAfterSeconds: number | undefined;
  /** With `session_active`: the session that has to end first. */
  readonly activeSessionId: string | undefined;
  /** With `unreadable_save`: the newest version before it that can be read. */
  readonly readableVersionId: string | undefined;

  constructor(
    code: ApiErrorCode, message: string, details: { retryAfterSeconds?: number; activeSessionId?: string; readableVersionId?: string; cause?: unknown } = {},
  ) {
    super(message, { cause: details.cause });
    this.code = code;
    this.retryAfterSeconds = details.retryAfterSeconds;
    this.activeSessionId = details.activeSessionId;
    this.readableVersionId = details.readableVersionId;
  }
}

/** Returns whether the error is an ApiError with one of the codes; with any code if none is named. */
export function isApiError(error: unknown, ...codes: ApiErrorCode[]): error is ApiError {
  return error instanceof ApiError && (codes.length === 0 || codes.includes(error.code));
}

/** Returns a sentence for the player: what went wrong and what to do about it. */
export function sentenceFor(error: unknown): string {
  if (!(error instanceof ApiError)) return "Something went wrong in this page. Reload it and try again.";
  const wait = error.retryAfterSeconds === undefined ? "in a moment" : `in ${waitText(error.retryAfterSeconds)}`;
  switch (error.code) {
    case "unreachable": return "Joypod did not answer. Check your connection and try again.";
    case "provider_unavailable": return signInErrorSentences.OAuthSignin;
    case "unauthorized": return "You are signed out. Sign in again to go on.";
    case "invalid_credentials": return signInErrorSentences.CredentialsSignin;
    case "locked": return `Too many failed sign-ins. For your safety this account is locked; try again ${wait}.`;
    case "rate_limited": return `That was too often in a short time. Try again ${wait}.`;
    case "not_found": return "This does not exist, or no longer.";
    case "no_servers": return `All game servers are busy. Try again ${wait}.`;
    case "no_empty_slot": return "All save slots of this game are in use. Continue one of them, or replace one.";
    case "slot_in_use": return `This slot is being played, or its last save is still on its way. Stop the game, or try again ${wait}.`;
    case "not_running": return "The game is not running, so there is nothing to save.";
    case "payload_too_large": return "This file is too large.";
    case "invalid_archive": return "This file is not a save. Choose one that was downloaded here (.tar.gz).";
    case "unreadable_save": return "This save is missing or damaged. Restore an earlier one of its slot.";
    case "request_timeout": return "This took too long. Check your connection and try again.";
    case "conflict": return `Your last save is still being stored. Try again ${wait}.`;
    case "session_active": return "You are already playing a game.";
    case "csrf": return "This page was open for too long. Reload it and try again.";
    case "unavailable": return `Joypod is not available just now. Try again ${wait}.`;
    case "not_implemented": return "This Joypod cannot do that yet.";
    default: return "Something went wrong on our side. Try again in a moment.";
  }
}

/** Returns a wait in words: seconds below two minutes, then minutes rounded up. */
export function waitText(seconds: number): string {
  if (seconds < 120) return seconds === 1 ? "1 second" : `${seconds} seconds`;
  return `${Math.ceil(seconds / 60)} minutes`;
}
