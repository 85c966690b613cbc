import type { z } from "zod";

/** Returns what a container left in its termination message as JSON; undefined for any other text. */
export function parseTerminationMessage<T>(schema: z.ZodType<T>, text: string): T | undefined {
  try {
    return schema.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined; // Not JSON: a message of another kind is ordinary, not an error.
  }
}
