import { z } from "zod";
import { limits } from "../limits.ts";

/**
 * One line of text that Postgres, logs and headers can hold: without control characters and lone surrogates.
 */
export function line(maxLength: number): z.ZodString {
  return z
    .string()
    .max(maxLength)
    .regex(/^[^\p{Cc}\u2028\u2029]*$/u, "must not contain control characters")
    .regex(/^[^\p{Cs}]*$/u, "must be well-formed Unicode");
}

/** Returns the text as one line, with a space instead of control characters, such as a pasted tab. */
export function asLine(text: string): string {
  return text.replaceAll(/[\p{Cc}\u2028\u2029]+/gu, " ");
}

/** Like `line`, but trimmed and not empty. */
export function requiredLine(maxLength: number): z.ZodString {
  return line(maxLength).trim().min(1, "must not be empty");
}

/** Like `name`, but not empty. */
export function requiredName(maxLength: number): z.ZodString {
  return name(maxLength).min(1, "must not be empty");
}

/** A name that people type and search for. NFC gives every accented letter the same encoding. */
export function name(maxLength: number): z.ZodString {
  return line(maxLength).normalize("NFC").trim();
}

/**
 * Text with several lines. Line feeds, carriage returns and tabs are allowed, other control characters are
 * not.
 */
export function paragraphs(maxLength: number): z.ZodString {
  return z
    .string()
    .max(maxLength)
    .regex(/^(?:[^\p{Cc}]|[\n\r\t])*$/u, "must not contain control characters")
    .regex(/^[^\p{Cs}]*$/u, "must be well-formed Unicode");
}

/**
 * Name of a game in addresses. It has at most 63 characters because Kubernetes objects and labels use it too.
 */
export const slug = z
  .string()
  .min(2)
  .max(63)
  .regex(/^[a-z0-9](?:[a-z0-9-]*[a-z0-9])$/, "must be a-z, 0-9 and inner dashes")
  .meta({ description: "The slug of the game.", examples: ["moonlight-drift"] });

/** An id that a client sends. The database decides whether it exists. */
export const opaqueId = requiredLine(64).meta({
  description: "An id from an earlier response.",
  examples: ["gs-7k2m9q4x1v8c"],
});

/** An address that pages may load: https without credentials. */
export const httpsUrl = line(limits.partner.urlMaxLength)
  .refine(isHttpsUrl, "must be an https address without credentials")
  .meta({
    description: "An https address without credentials.",
    format: "uri",
    examples: ["https://images.example.org/moonlight-drift.jpg"],
  });

/** A moment in a response: ISO 8601 in UTC with milliseconds. */
export const isoMoment = z.iso.datetime().meta({ examples: ["2026-11-21T18:04:05.000Z"] });

function isHttpsUrl(text: string): boolean {
  if (!/^https:\/\/[^\s\\]+$/i.test(text) || !URL.canParse(text)) return false;
  const url = new URL(text);
  return url.username === "" && url.password === "" && url.hostname !== "";
}
