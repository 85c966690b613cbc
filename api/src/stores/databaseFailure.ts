import {
  connectionFailureOf,
  connectionSentence,
  type ServerWords,
} from "#runtime/network/connectionFailure.ts";
import { databaseCausesOf } from "./databaseUnavailable.ts";

const words: ServerWords = {
  server: "The database",
  address: "DATABASE_URL",
  authority: "DATABASE_CA_FILE (the chart's postgres.caSecret)",
};

/**
 * Returns what is wrong with the way to the database, in a sentence that says what to do and has no value in
 * it; undefined for what may pass by itself.
 */
export function databaseSentence(error: unknown): string | undefined {
  for (const { code, message } of databaseCausesOf(error)) {
    const sentence = sentences[code];
    if (sentence !== undefined) return typeof sentence === "string" ? sentence : sentence(message);
  }
  const failure = connectionFailureOf(error);
  return failure === undefined ? undefined : connectionSentence(failure, words);
}

/**
 * Returns whether the way to the database must be mended before asking again makes sense. A host name may
 * still become known.
 */
export function isDatabaseOutOfReach(error: unknown): boolean {
  return databaseSentence(error) !== undefined && connectionFailureOf(error) !== "unknownHost";
}

/** By the server's codes. */
const sentences: Readonly<Record<string, string | ((message: string) => string)>> = {
  "28P01": "The database refuses the user or the password in DATABASE_URL: correct them.",
  "28000": (message) =>
    message.includes("no encryption")
      ? "The database takes no connection without TLS: add sslmode=verify-full to DATABASE_URL, and the certificate of its authority as DATABASE_CA_FILE (the chart's postgres.caSecret)."
      : "The database does not let the user in DATABASE_URL in from here: look into its pg_hba.conf.",
  "3D000":
    "The database that DATABASE_URL names does not exist on its server: create it, or correct the name.",
};
