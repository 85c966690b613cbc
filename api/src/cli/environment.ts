import type { Readable, Writable } from "node:stream";
import type { Command } from "commander";
import type { Passwords } from "../auth/passwords.ts";
import type { PrintedLinkDeps } from "../accounts/links/printedLinks.ts";
import type { Audit } from "../audit/audit.ts";
import type { RestoreDeps } from "../saves/changeSlot.ts";
import type { UploadSaveDeps } from "../saves/uploadSave.ts";
import type { Postgres } from "../stores/postgres.ts";

/** Dependencies of the save commands. */
export type CliSaves = RestoreDeps & UploadSaveDeps & { audit: Audit };

/** Dependencies of the commands, opened on demand. */
export interface CliEnvironment {
  databaseUrl(): string;
  stores(): { postgres: Postgres; audit: Audit };
  passwords(): Passwords;
  /**
   * Returns the pepper.
   *
   * @throws invalid_request when it is not set
   */
  pepper(): string;
  /** Notifies running API servers of ended sign-ins; false when that failed. */
  announce: (authSessionIds: readonly string[]) => Promise<boolean>;
  readStdin(): Promise<string>;
  /** Raw standard input and output, for archives. */
  input(): Readable;
  output(): Writable;
  /** Dependencies of the save commands. Throws when the object store is not configured. */
  saves(): CliSaves;
  /** Dependencies of one-time links. Throws when the API's address is not set. */
  links(): PrintedLinkDeps;
  /** Lines of standard input. */
  readLines(): AsyncIterable<string>;
  /** Cost of new password hashes. */
  bcryptCost(): number;
  /** Prints the result: one JSON object, or the sentence. */
  print(result: Record<string, unknown>, sentence: string, asJson: boolean): void;
}

/** The option that all commands have. */
export interface Json {
  json?: true;
}

/** Adds a command with the common options. */
export type AddCommand = (parent: Command, name: string, description: string) => Command;
