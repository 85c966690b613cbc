/** Length of the longest message that the spool's schemas accept. */
const messageLength = 1024;

/**
 * A save cannot be restored or packed, for a reason that goes into the spool and reaches the session's owner.
 */
export class SaveError extends Error {
  readonly reason: string;

  constructor(reason: string, message: string, options?: ErrorOptions) {
    super(message.slice(0, messageLength), options);
    this.name = "SaveError";
    this.reason = reason;
  }
}
