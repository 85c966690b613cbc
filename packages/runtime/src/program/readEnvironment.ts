import { z } from "zod";

/** The least severe lines that a program logs, by the levels of its logger. */
export const logLevel = z
  .enum(["trace", "debug", "info", "warn", "error", "fatal", "silent"])
  .default("info");

/** The variables of a process. */
export type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Returns what the schema makes of the environment. Throws one error that names the program and every wrong
 * variable, and no value.
 */
export function readEnvironment<Output>(
  schema: z.ZodType<Output>,
  environment: Environment,
  program: string,
): Output {
  const parsed = schema.safeParse(environment);
  if (!parsed.success)
    throw new Error(`The configuration of the ${program} is wrong.\n${z.prettifyError(parsed.error)}`);
  return parsed.data;
}

/** A variable that is a whole number from `min` to `max`. */
export function whole(fallback: number, min: number, max: number) {
  return z.coerce.number().int().min(min).max(max).default(fallback);
}

/** The same, with the range as one object. */
export function within(fallback: number, { min, max }: { min: number; max: number }) {
  return whole(fallback, min, max);
}

/** A variable that is any text but an empty one. */
export function nonEmpty(fallback: string) {
  return z.string().trim().min(1).default(fallback);
}

/**
 * Returns the parts of a variable's list, which commas separate; blanks around a part, and empty parts, do
 * not count.
 */
export function listed(text: string): string[] {
  return text
    .split(",")
    .map((part) => part.trim())
    .filter((part) => part !== "");
}
