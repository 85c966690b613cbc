import { accountDisabledSentence, signInErrorSentences, unconfirmedSentence } from "#contracts/http/auth.ts";
import type { ErrorCode, ServerLack } from "#contracts/http/errors.ts";
import { t } from "../i18n.ts";

/**
 * The API's error codes, and three more: no response at all, a response that breaks the contract, and an
 * external provider that is unavailable.
 */
export type ApiErrorCode = ErrorCode | "unreachable" | "unexpected" | "provider_unavailable";

/**
 * An error response, or a request without a response. Code decides by `code`; players read the text of
 * `describeError`.
 */
export class ApiError extends Error {
  override readonly name = "ApiError";
  readonly code: ApiErrorCode;
  /** From Retry-After, if the response had that header. */
  readonly retryAfterSeconds: number | undefined;
  /** With `session_active`: the session that has to end first. */
  readonly activeSessionId: string | undefined;
  /** With `unreadable_save`: the newest readable version before it. */
  readonly readableVersionId: string | undefined;
  /**
   * With `no_servers`: the resource that no game server has left for the game; undefined if all servers are
   * busy.
   */
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

/** The sentences of contracts for some codes: the API's own sign-in pages show them too. */
const signInSentences: Partial<Record<ApiErrorCode, string>> = {
  provider_unavailable: signInErrorSentences.OAuthSignin,
  invalid_credentials: signInErrorSentences.CredentialsSignin,
  account_disabled: accountDisabledSentence,
  unconfirmed: unconfirmedSentence,
};

/** Codes whose sentence depends on nothing else. */
const plainCodes = [
  "unreachable",
  "unauthorized",
  "not_found",
  "no_empty_slot",
  "not_running",
  "payload_too_large",
  "invalid_archive",
  "unreadable_save",
  "newer_save",
  "request_timeout",
  "maintenance",
  "session_active",
  "reauthentication_required",
  "common_password",
  "invalid_link",
  "sign_up_closed",
  "no_mail",
  "invalid_picture",
  "csrf",
  "not_implemented",
] as const satisfies readonly ApiErrorCode[];

/** Returns a sentence for the player: what went wrong and what to do about it. */
export function describeError(error: unknown): string {
  if (!(error instanceof ApiError)) return t("errors:page");
  const wait = formatWait(error.retryAfterSeconds);
  switch (error.code) {
    case "locked":
    case "rate_limited":
    case "slot_in_use":
    case "unavailable":
    case "play_limit_reached":
      return t(`errors:${error.code}`, { wait });
    case "no_servers":
      return t(`errors:no_servers.${error.lack ?? "all"}`, { wait });
    // Conflicts have different causes, which only the API's message names.
    case "conflict":
      return error.message;
    default: {
      const plain = plainCodes.find((code) => code === error.code);
      return plain === undefined ? (signInSentences[error.code] ?? t("errors:server")) : t(`errors:${plain}`);
    }
  }
}

/**
 * Returns a wait in words, such as `in 5 seconds`: seconds below two minutes, then minutes, hours from two
 * hours on and days from two days on, all rounded up.
 */
export function formatWait(seconds: number | undefined): string {
  if (seconds === undefined) return t("errors:wait.moment");
  if (seconds < 120) return t("errors:wait.seconds", { count: seconds });
  if (seconds <= 7_200) return t("errors:wait.minutes", { minutes: Math.ceil(seconds / 60) });
  if (seconds <= 172_800) return t("errors:wait.hours", { hours: Math.ceil(seconds / 3_600) });
  return t("errors:wait.days", { days: Math.ceil(seconds / 86_400) });
}
