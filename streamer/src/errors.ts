import { whepErrors, type WhepErrorCode } from "#contracts/stream.ts";

/** A refused WHEP request: becomes `{error, message}` with the code's status. */
export class WhepRefusal extends Error {
  readonly code: WhepErrorCode;

  constructor(code: WhepErrorCode, message: string) {
    super(message);
    this.name = "WhepRefusal";
    this.code = code;
  }

  get status(): number {
    return whepErrors[this.code];
  }
}

/** The offer cannot be answered; the message says what it lacks. */
export class InvalidOffer extends WhepRefusal {
  constructor(message: string) {
    super("invalid_offer", message);
    this.name = "InvalidOffer";
  }
}

/** Another viewer plays, and this request did not ask to take over. */
export class ViewerActive extends WhepRefusal {
  constructor() {
    super("viewer_active", "The session is open in another tab or browser; ask with takeover=true to play here instead.");
    this.name = "ViewerActive";
  }
}

/** The streamer is starting or stopping. */
export class NotReady extends WhepRefusal {
  constructor() {
    super("not_ready", "The session is starting or stopping; try again in a moment.");
    this.name = "NotReady";
  }
}
