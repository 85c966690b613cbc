import type { Readable, Writable } from "node:stream";
import type { Command } from "commander";
import type { Passwords } from "../auth/passwords.ts";
import type { Audit } from "../audit/audit.ts";
import type { RestoreDeps } from "../saves/changeSlot.ts";
import type { UploadSaveDeps } from "../saves/uploadSave.ts";
import type { Postgres } from "../stores/postgres.ts";

/** What works with players' saves. */
export type CliSaves = RestoreDeps & UploadSaveDeps & { audit: Audit };

/** Dependencies of the commands, opened on demand. */
export interface CliEnvironment {
  databaseUrl(): string;
  stores(): { postgres: Postgres; audit: Audit };
  passwords(): Passwords;
  /** Throws invalid_request where it is not set. */
  pepper(): string;
  /** Tells running API servers which sign-ins are over; false when they could not be told. */
  announce: (authSessionIds: readonly string[]) => Promise<boolean>;
  readStdin(): Promise<string>;
  /** Raw standard input and output, for archives. */
  input(): Readable;
  output(): Writable;
  /** What works with players' saves needs; throws when the object store is not configured. */
  saves(): CliSaves;
  /** The same line by line. */
  readLines(): AsyncIterable<string>;
  /** Of new password hashes. */
  bcryptCost(): number;
  /** Writes the result: one JSON object, or the sentence. */
  print(result: Record<string, unknown>, sentence: string, asJson: boolean): void;
}

/** The option that all commands have. */
export interface Json {
  json?: true;
}

/** Adds a command that has the options of all. */
export type AddCommand = (parent: Command, name: string, description: string) => Command;
