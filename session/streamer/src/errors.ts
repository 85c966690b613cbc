import { errors } from "#contracts/http/errors.ts";
import type { TicketErrorCode, WhepErrorCode } from "#contracts/stream.ts";
import { messageOf } from "#runtime/errors.ts";

/**
 * A refused request, with a code of the contract's catalogue. The HTTP servers respond with the code's status
 * and `{error, message}`.
 */
export class DomainError extends Error {
  override readonly name = "DomainError";
  readonly code: WhepErrorCode | TicketErrorCode;

  constructor(code: WhepErrorCode | TicketErrorCode, message: string, cause?: unknown) {
    super(message, { cause });
    this.code = code;
  }

  get status(): number {
    return errors[this.code].status;
  }
}

/** The offer cannot be answered; `message` says what is wrong with it. */
export function invalidOffer(message: string): DomainError {
  return new DomainError("invalid_offer", message);
}

/** The transport rejected the offer. */
export function rejectedOffer(cause: unknown): DomainError {
  return new DomainError("invalid_offer", `The offer cannot be answered: ${messageOf(cause)}.`, cause);
}

/** Another browser plays this session, and the request must not, or did not ask to, take over. */
export function viewerActive(canTakeOver: boolean): DomainError {
  return new DomainError(
    "viewer_active",
    canTakeOver
      ? "The session is open in another tab or browser. Send takeover=true to play here instead."
      : "Someone is playing this session, so it cannot be watched right now.",
  );
}

/** The streamer is starting or stopping. */
export function notReady(): DomainError {
  return new DomainError("not_ready", "The session is starting or stopping. Try again in a moment.");
}

/** The node already runs the maximum number of connection tests. */
export function nodeBusy(): DomainError {
  return new DomainError(
    "not_ready",
    "Other players are testing their connection to this server. Try again in a few seconds.",
  );
}

/** The request has no valid ticket. */
export function unauthorized(): DomainError {
  return new DomainError("unauthorized", "A valid ticket is required. Send Authorization: Bearer <ticket>.");
}

/** The ticket is valid, but does not allow this; `message` says what it is for. */
export function forbidden(message: string): DomainError {
  return new DomainError("forbidden", message);
}
