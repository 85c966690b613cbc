import { errors } from "#contracts/http/errors.ts";
import type { WhepErrorCode } from "#contracts/stream.ts";

/** A WHEP request fails: the response is `{error, message}` with the code's status. */
export class WhepRequestError extends Error {
  readonly code: WhepErrorCode;

  constructor(code: WhepErrorCode, message: string) {
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
}

/** Another viewer plays, and the request does not ask to take over. */
export class ViewerActive extends WhepRequestError {
  constructor() {
    super("viewer_active", "The session is open in another tab or browser; ask with takeover=true to play here instead.");
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
