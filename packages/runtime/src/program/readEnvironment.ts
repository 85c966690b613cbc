import { z } from "zod";

/** Minimum level of logged lines. */
export const logLevel = z
  .enum(["trace", "debug", "info", "warn", "error", "fatal", "silent"])
  .default("info");

/** Environment variables. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** Parses the environment. Throws one error with the program and every invalid variable, but no values. */
export function readEnvironment<Output>(
  schema: z.ZodType<Output>,
  environment: Environment,
  program: string,
): Output {
  const parsed = schema.safeParse(environment);
  if (!parsed.success)
    throw new Error(`The configuration of the ${program} is invalid.\n${z.prettifyError(parsed.error)}`);
  return parsed.data;
}

/** An integer variable from `min` to `max`. */
export function whole(fallback: number, min: number, max: number) {
  return z.coerce.number().int().min(min).max(max).default(fallback);
}

/** An integer variable, with the range as an object. */
export function within(fallback: number, { min, max }: { min: number; max: number }) {
  return whole(fallback, min, max);
}

/** A variable with non-empty text. */
export function nonEmpty(fallback: string) {
  return z.string().trim().min(1).default(fallback);
}

/** Splits a comma-separated variable. Surrounding whitespace and empty parts are removed. */
export function listed(text: string): string[] {
  return text
    .split(",")
    .map((part) => part.trim())
    .filter((part) => part !== "");
}
