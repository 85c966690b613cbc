import { ArchiveRefused } from "#archive/archiveRefused.ts";
import { DomainError } from "../errors.ts";
import { CutOff, TooSlow } from "./bodyReader.ts";
import { ArchiveTooLarge, DigestMismatch } from "./receiveArchive.ts";

/**
 * Returns what an error of `receiveArchive` means to the client: invalid_archive, payload_too_large (over
 * `maxBytes`), checksum_mismatch, invalid_request or request_timeout. Any other error is returned as it is.
 */
export function toReceptionError(error: unknown, maxBytes: number): unknown {
  if (error instanceof ArchiveRefused) {
    const details =
      error.entry === undefined
        ? {}
        : { details: [{ path: error.entry.slice(0, 256), message: error.message }] };
    return new DomainError("invalid_archive", { message: error.message, cause: error, ...details });
  }
  if (error instanceof ArchiveTooLarge)
    return new DomainError("payload_too_large", {
      message: `An archive may have at most ${maxBytes} bytes.`,
    });
  if (error instanceof DigestMismatch)
    return new DomainError("checksum_mismatch", { message: error.message });
  if (error instanceof CutOff)
    return new DomainError("invalid_request", { message: error.message, cause: error });
  if (error instanceof TooSlow) return new DomainError("request_timeout", { message: error.message });
  return error;
}
