import { InvalidArgumentError, type Command } from "commander";
import { printableText } from "#runtime/printableText.ts";
import { table } from "#runtime/textTable.ts";
import type { CliEnvironment, Json } from "./environment.ts";

/** One page of a list. */
export interface Page<T> {
  rows: T[];
  /** The cursor of the next page; null on the last one. */
  after: string | null;
}

/** Selects a page of a list. */
export interface PageRequest {
  /** The cursor of the previous page. */
  after: string | undefined;
  limit: number;
}

/** The options of every list command. */
export type ListOptions = Json & PageRequest;

const pageSize = { default: 100, max: 1000 };

/** Adds `--limit` and `--after` to a list command; the cursor is the entry's value in the first column. */
export function withPaging(command: Command, cursor: string): Command {
  return command
    .option("--limit <entries>", `number of entries, up to ${pageSize.max}`, toLimit, pageSize.default)
    .option(`--after <${cursor}>`, "only entries after this one, as printed below a full page");
}

/** Returns a page from the rows of a query that returns up to one row more than the page has. */
export function toPage<T>(rows: readonly T[], limit: number, cursorOf: (row: T) => string): Page<T> {
  const shown = rows.slice(0, limit);
  const last = shown.at(-1);
  return { rows: shown, after: rows.length > limit && last !== undefined ? cursorOf(last) : null };
}

/** A value in a list or of an object; null is shown as `-`. */
type Cell = string | number | Date | null;

/** How a list is printed. */
interface ListPrint<T> {
  /** The name of the list in the JSON object. */
  name: string;
  page: Page<T>;
  headings: readonly string[];
  cellsOf: (row: T) => readonly Cell[];
}

/** Prints a page as one JSON object or as a table. */
export function printList<T>(
  environment: CliEnvironment,
  { name, page: { rows, after }, headings, cellsOf }: ListPrint<T>,
  { json }: Json,
): void {
  const rest = after === null ? "" : `\nFor more: --after ${printableLine(after)}`;
  const text =
    rows.length === 0
      ? `No ${name} found.`
      : table(
          headings,
          rows.map((row) => cellsOf(row).map(textOf)),
        ) + rest;
  environment.print({ [name]: rows, after }, text, json === true);
}

/** Prints one object as one JSON object or as lines of names and values. */
export function printDetails(
  environment: CliEnvironment,
  details: object,
  lines: readonly (readonly [name: string, value: Cell])[],
  { json }: Json,
): void {
  const width = Math.max(...lines.map(([name]) => name.length)) + 2;
  const text = lines.map(([name, value]) => `${`${name}:`.padEnd(width)}${textOf(value) ?? "-"}`).join("\n");
  environment.print({ ...details }, text, json === true);
}

/** Returns a time as it is printed, in whole seconds. */
export function timeOf(time: Date): string {
  return time.toISOString().replace(/\.\d+Z$/, "Z");
}

function textOf(cell: Cell): string | undefined {
  if (cell === null) return undefined;
  return cell instanceof Date ? timeOf(cell) : printableLine(String(cell));
}

/** Returns text that players or partners chose, safe for one line of a terminal. */
function printableLine(text: string): string {
  return printableText(text).replaceAll(/[\n\t]+/g, " ");
}

/** Parses `--limit`. */
export function toLimit(text: string): number {
  const limit = /^\d{1,4}$/.test(text) ? Number(text) : 0;
  if (limit < 1 || limit > pageSize.max)
    throw new InvalidArgumentError(`Must be a whole number from 1 to ${pageSize.max}.`);
  return limit;
}
