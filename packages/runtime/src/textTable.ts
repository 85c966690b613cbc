/**
 * Returns rows as aligned columns with headings. Undefined cells are shown as `-`. The last column is not
 * padded.
 */
export function table(
  headings: readonly string[],
  rows: readonly (readonly (string | number | undefined)[])[],
): string {
  const lines = [
    headings,
    ...rows.map((row) => row.map((cell) => (cell === undefined || cell === "" ? "-" : String(cell)))),
  ];
  // There may be more rows than the maximum number of arguments.
  const widths = headings.map((_, column) =>
    lines.reduce((widest, line) => Math.max(widest, line[column]?.length ?? 0), 0),
  );
  return lines
    .map((line) =>
      line
        .map((cell, column) => (column === line.length - 1 ? cell : cell.padEnd(widths[column] ?? 0)))
        .join("   ")
        .trimEnd(),
    )
    .join("\n");
}
