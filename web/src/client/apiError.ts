import { signInErrorSentences } from "#contracts/http/auth.ts";
import type { ErrorCode, ServerLack } from "#contracts/http/errors.ts";

/**
 * The API's error codes, and three more: no response at all, a response that breaks the contract, and an
 * external provider that is unavailable.
 */
export type ApiErrorCode = ErrorCode | "unreachable" | "unexpected" | "provider_unavailable";

/**
 * An error response, or a request that failed. Code decides by `code`; players read what `sentenceFor`
 * returns.
 */
export class ApiError extends Error {
  override readonly name = "ApiError";
  readonly code: ApiErrorCode;
  /** From Retry-After, if the response had that header. */
  readonly retryAfterSeconds: number | undefined;
  /** With `session_active`: the session that has to end first. */
  readonly activeSessionId: string | undefined;
  /** With `unreadable_save`: the newest version before it that can be read. */
  readonly readableVersionId: string | undefined;
  /** With `no_servers`: what no game server has left for the game; undefined where all are taken. */
  readonly lack: ServerLack | undefined;

  constructor(
    code: ApiErrorCode,
    message: string,
    details: {
      retryAfterSeconds?: number;
      activeSessionId?: string;
      readableVersionId?: string;
      lack?: ServerLack;
      cause?: unknown;
    } = {},
  ) {
    super(message, { cause: details.cause });
    this.code = code;
    this.retryAfterSeconds = details.retryAfterSeconds;
    this.activeSessionId = details.activeSessionId;
    this.readableVersionId = details.readableVersionId;
    this.lack = details.lack;
  }
}

/** Returns whether the error is an ApiError with one of the codes; with any code if none is named. */
export function isApiError(error: unknown, ...codes: ApiErrorCode[]): error is ApiError {
  return error instanceof ApiError && (codes.length === 0 || codes.includes(error.code));
}

/** Sentences that need no wait. */
const sentences: Partial<Record<ApiErrorCode, string>> = {
  unreachable: "Joypod did not answer. Check your connection and try again.",
  provider_unavailable: signInErrorSentences.OAuthSignin,
  unauthorized: "You are signed out. Sign in again to go on.",
  invalid_credentials: signInErrorSentences.CredentialsSignin,
  not_found: "This does not exist, or no longer.",
  no_empty_slot: "All save slots of this game are in use. Continue one of them, or replace one.",
  not_running: "The game is not running, so there is nothing to save.",
  payload_too_large: "This file is too large.",
  invalid_archive: "This file is not a save. Choose one that was downloaded here (.tar.gz).",
  unreadable_save: "This save is missing or damaged. Restore an earlier one of its slot.",
  request_timeout: "This took too long. Check your connection and try again.",
  maintenance: "Joypod is being worked on, and no game can be started just now. Try again later.",
  session_active: "You are already playing a game.",
  reauthentication_required: "That is not your password.",
  common_password: "That password is one of the most common ones, which are guessed first. Choose another.",
  csrf: "This page was open for too long. Reload it and try again.",
  not_implemented: "This Joypod cannot do that yet.",
};

const lackWords: Record<ServerLack, string> = {
  gpu: "enough of a GPU",
  memory: "enough memory",
  processors: "enough processors",
};

/** Returns a sentence for the player: what went wrong and what to do about it. */
export function sentenceFor(error: unknown): string {
  if (!(error instanceof ApiError)) return "Something went wrong in this page. Reload it and try again.";
  const wait =
    error.retryAfterSeconds === undefined ? "in a moment" : `in ${waitText(error.retryAfterSeconds)}`;
  switch (error.code) {
    case "locked":
      return `Too many failed sign-ins. For your safety this account is locked; try again ${wait}.`;
    case "rate_limited":
      return `That was too often in a short time. Try again ${wait}.`;
    case "no_servers":
      return `${error.lack === undefined ? "All game servers are busy" : `No game server has ${lackWords[error.lack]} left for this game`}. Try again ${wait}.`;
    case "slot_in_use":
      return `This slot is being played, or its last save is still on its way. Stop the game, or try again ${wait}.`;
    // What is in the way differs, and the API's own sentence says it.
    case "conflict":
      return error.message;
    case "unavailable":
      return `Joypod is not available just now. Try again ${wait}.`;
    default:
      return sentences[error.code] ?? "Something went wrong on our side. Try again in a moment.";
  }
}

/** Returns a wait in words: seconds below two minutes, then minutes rounded up. */
export function waitText(seconds: number): string {
  if (seconds < 120) return seconds === 1 ? "1 second" : `${seconds} seconds`;
  return `${Math.ceil(seconds / 60)} minutes`;
}
