import type { ErrorCode } from "#contracts/http/errors.ts";
import { objectStoreSentence } from "#s3/objectStoreFailure.ts";
import { DomainError } from "../errors.ts";
import { databaseSentence } from "../stores/databaseFailure.ts";
import { messageOf } from "#runtime/errors.ts";

/** Exit codes by the error codes of `--json`. 2 is also used for invalid options. */
export const exitCodes = { invalid: 2, exists: 3, not_found: 4, in_use: 5, failed: 1 } as const;

/** A failed command. */
export interface CliError {
  error: keyof typeof exitCodes;
  message: string;
  /** Data for scripts: `exists` has the id of the existing object. */
  details: Readonly<Record<string, string>>;
}

const words: Partial<Record<ErrorCode, CliError["error"]>> = {
  invalid_request: "invalid",
  common_password: "invalid",
  invalid_archive: "invalid",
  payload_too_large: "invalid",
  conflict: "exists",
  not_found: "not_found",
  session_active: "in_use",
  slot_in_use: "in_use",
  no_empty_slot: "in_use",
};

/** Translates an error for the command line; unexpected errors become `failed`. */
export function toCliError(error: unknown): CliError {
  const said = messageOf(error);
  // Errors of the object store are the cause of a DomainError; those of the database are not wrapped.
  const sentence = error instanceof DomainError ? objectStoreSentence(error) : databaseSentence(error);
  const message = sentence === undefined ? said : `${sentence} (${said})`;
  const word = error instanceof DomainError ? words[error.code] : undefined;
  return { error: word ?? "failed", message, details: error instanceof DomainError ? error.extra : {} };
}
