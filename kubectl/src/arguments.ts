import { InvalidArgumentError } from "commander";
import { requiredLine } from "#contracts/http/text.ts";

const unitMs = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;
const maxMs = 7 * unitMs.d;

/** Parses a duration such as `90s`, `10m`, `2h` or `1h30m` to milliseconds. At most seven days. */
export function toDurationMs(text: string): number {
  const isValid = /^(\d{1,6}[smhd])+$/.test(text);
  const ms = [...text.matchAll(/(\d+)([smhd])/g)].reduce(
    (sum, [, amount, unit]) => sum + Number(amount) * unitMs[unit as keyof typeof unitMs],
    0,
  );
  if (!isValid || ms > maxMs)
    throw new InvalidArgumentError("Specify a duration of at most 7d, such as 90s, 10m or 2h.");
  return ms;
}

/** Returns a parser of one line of text. */
export function toMessageOf(maxLength: number): (text: string) => string {
  return (text) => {
    const parsed = requiredLine(maxLength).safeParse(text);
    if (!parsed.success)
      throw new InvalidArgumentError(`Specify one line of at most ${maxLength} characters.`);
    return parsed.data;
  };
}
