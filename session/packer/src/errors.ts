/** Maximum message length in the spool's schemas. */
const messageLength = 1024;

/**
 * A save cannot be restored or packed. The reason and message go into the spool and reach the session's
 * owner.
 */
export class SaveError extends Error {
  readonly reason: string;

  constructor(reason: string, message: string, options?: ErrorOptions) {
    super(message.slice(0, messageLength), options);
    this.name = "SaveError";
    this.reason = reason;
  }
}
