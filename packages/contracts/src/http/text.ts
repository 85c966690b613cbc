import { z } from "zod";
import { limits } from "../limits.ts";

/**
 * One line of text as Postgres, logs and headers can hold it: no control characters, no half of a surrogate
 * pair.
 */
export function line(maxLength: number): z.ZodString {
  return z
    .string()
    .max(maxLength)
    .regex(/^[^\p{Cc}\u2028\u2029]*$/u, "must not contain control characters")
    .regex(/^[^\p{Cs}]*$/u, "must be well-formed Unicode");
}

/**
 * Returns a text as `line` takes it: with a space in the place of control characters, such as a tab that was
 * pasted along.
 */
export function asLine(text: string): string {
  return text.replaceAll(/[\p{Cc}\u2028\u2029]+/gu, " ");
}

/** The same as `line`, trimmed and not empty. */
export function requiredLine(maxLength: number): z.ZodString {
  return line(maxLength).trim().min(1, "must not be empty");
}

/** The same as `name`, not empty. */
export function requiredName(maxLength: number): z.ZodString {
  return name(maxLength).min(1, "must not be empty");
}

/** Names as people write them and search for them: however an accent is encoded, it is one letter. */
export function name(maxLength: number): z.ZodString {
  return line(maxLength).normalize("NFC").trim();
}

/** Text of several lines: line feeds and tabs are allowed, other control characters are not. */
export function paragraphs(maxLength: number): z.ZodString {
  return z
    .string()
    .max(maxLength)
    .regex(/^(?:[^\p{Cc}]|[\n\r\t])*$/u, "must not contain control characters")
    .regex(/^[^\p{Cs}]*$/u, "must be well-formed Unicode");
}

/**
 * Name of a game in addresses; at most 63 characters because it also names Kubernetes objects and their
 * labels.
 */
export const slug = z
  .string()
  .min(2)
  .max(63)
  .regex(/^[a-z0-9](?:[a-z0-9-]*[a-z0-9])$/, "must be a-z, 0-9 and inner dashes")
  .meta({ description: "The slug of the game.", examples: ["moonlight-drift"] });

/** An id as a client sends it back to us; whether it exists is for the database to say. */
export const opaqueId = requiredLine(64).meta({
  description: "An id from an earlier response.",
  examples: ["gs-7k2m9q4x1v8c"],
});

/** An address that pages may load: https only, no credentials. */
export const httpsUrl = line(limits.partner.urlMaxLength)
  .refine(isHttpsUrl, "must be an https address without credentials")
  .meta({
    description: "An https address without credentials.",
    format: "uri",
    examples: ["https://images.example.org/moonlight-drift.jpg"],
  });

/** ISO 8601 with milliseconds in UTC, as every moment in a response is written. */
export const isoMoment = z.iso.datetime().meta({ examples: ["2026-11-21T18:04:05.000Z"] });

function isHttpsUrl(text: string): boolean {
  if (!/^https:\/\/[^\s\\]+$/i.test(text) || !URL.canParse(text)) return false;
  const url = new URL(text);
  return url.username === "" && url.password === "" && url.hostname !== "";
}
