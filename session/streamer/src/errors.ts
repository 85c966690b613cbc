import { errors } from "#contracts/http/errors.ts";
import type { TicketErrorCode, WhepErrorCode } from "#contracts/stream.ts";
import { messageOf } from "#runtime/errors.ts";

/** A WHEP request fails: the response is `{error, message}` with the code's status. */
export class WhepRequestError extends Error {
  readonly code: WhepErrorCode | TicketErrorCode;

  constructor(code: WhepErrorCode | TicketErrorCode, message: string) {
    super(message);
    this.name = "WhepRequestError";
    this.code = code;
  }

  get status(): number {
    return errors[this.code].status;
  }
}

/** The offer cannot be answered; the message says what it lacks. */
export class InvalidOffer extends WhepRequestError {
  constructor(message: string) {
    super("invalid_offer", message);
    this.name = "InvalidOffer";
  }

  /** Returns one that says what went wrong where the offer was about to be answered. */
  static because(cause: unknown): InvalidOffer {
    return new InvalidOffer(`The offer cannot be answered: ${messageOf(cause)}.`);
  }
}

/** Another viewer plays, and the request does not ask to take over. */
export class ViewerActive extends WhepRequestError {
  constructor(mayTakeOver: boolean) {
    super(
      "viewer_active",
      mayTakeOver
        ? "The session is open in another tab or browser; ask with takeover=true to play here instead."
        : "Somebody plays this session: it cannot be watched beside them.",
    );
    this.name = "ViewerActive";
  }
}

/** The streamer is starting or stopping. */
export class NotReady extends WhepRequestError {
  constructor() {
    super("not_ready", "The session is starting or stopping; try again in a moment.");
    this.name = "NotReady";
  }
}

/** The request has no ticket that this streamer takes. */
export class Unauthorized extends WhepRequestError {
  constructor() {
    super("unauthorized", "A valid ticket is required: Authorization: Bearer <ticket>.");
    this.name = "Unauthorized";
  }
}

/** The ticket is genuine, but for something else; the message says for what. */
export class Forbidden extends WhepRequestError {
  constructor(message: string) {
    super("forbidden", message);
    this.name = "Forbidden";
  }
}

/** The node has as many connection tests as it takes at once. */
export class NodeBusy extends WhepRequestError {
  constructor() {
    super("not_ready", "Other players test their connection to this node: try again in a few seconds.");
    this.name = "NodeBusy";
  }
}
