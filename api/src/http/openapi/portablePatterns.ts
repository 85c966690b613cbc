/** A part of a JSON Schema that can name patterns. */
interface Patterned {
  pattern?: string | undefined;
  allOf?: unknown;
}

/** In every dialect of regular expressions: control characters, as Unicode's category Cc has them. */
const controls = "\\x00-\\x1f\\x7f-\\x9f";

/**
 * Rewrites a schema's patterns so that any program's regular expressions read them: Unicode's categories are
 * written out. That a text is well-formed is left out, for hardly any client could send another.
 */
export function makePatternsPortable(schema: Patterned): void {
  if (Array.isArray(schema.allOf)) {
    const parts: unknown[] = schema.allOf;
    const patterns = parts.map((part) =>
      typeof part === "object" && part !== null && "pattern" in part && typeof part.pattern === "string"
        ? part.pattern
        : undefined,
    );
    if (patterns.some((pattern) => pattern?.includes("\\p{") === true)) {
      delete schema.allOf;
      const kept = patterns.flatMap((pattern) => (pattern === undefined ? [] : (portable(pattern) ?? [])));
      if (kept.length === 1 && kept[0] !== undefined) schema.pattern = kept[0];
      else if (kept.length > 1) schema.allOf = kept.map((pattern) => ({ pattern }));
    }
  }
  if (schema.pattern?.includes("\\p{") !== true) return;
  const pattern = portable(schema.pattern);
  if (pattern === undefined) delete schema.pattern;
  else schema.pattern = pattern;
}

function portable(pattern: string): string | undefined {
  if (pattern === "^[^\\p{Cs}]*$") return undefined;
  return pattern.replaceAll("\\p{Cc}", controls).replaceAll("\\u2028\\u2029", "\u2028\u2029");
}
