import { readFileSync } from "node:fs";
import { join } from "node:path";
import ts from "typescript";

const sourcePath = join(import.meta.dirname, "../../packages/contracts/src/crd/reasons.ts");

/** One exported object of reasons, with its doc comment. */
interface ReasonList {
  meaning: string;
  reasons: { reason: string; meaning: string }[];
}

/**
 * Returns Markdown tables of the named reason lists of packages/contracts/src/crd/reasons.ts, by their doc
 * comments. Throws when one is missing.
 */
export function reasonTables(names: readonly string[]): string {
  const lists = readReasonLists();
  return names
    .map((name) => {
      const list = lists.get(name);
      if (list === undefined) throw new Error(`${sourcePath} exports no reasons named ${name}`);
      const rows = list.reasons.map(({ reason, meaning }) => `| ${reason} | ${meaning} |`);
      return [list.meaning, "", "| Reason | Meaning |", "|---|---|", ...rows].join("\n");
    })
    .join("\n\n");
}

function readReasonLists(): Map<string, ReasonList> {
  const source = ts.createSourceFile(
    sourcePath,
    readFileSync(sourcePath, "utf8"),
    ts.ScriptTarget.Latest,
    true,
  );
  const lists = new Map<string, ReasonList>();
  for (const statement of source.statements) {
    const declaration = ts.isVariableStatement(statement)
      ? statement.declarationList.declarations[0]
      : undefined;
    const value =
      declaration?.initializer && ts.isAsExpression(declaration.initializer)
        ? declaration.initializer.expression
        : undefined;
    if (declaration === undefined || value === undefined || !ts.isObjectLiteralExpression(value)) continue;
    const reasons = value.properties.flatMap((property) =>
      ts.isPropertyAssignment(property) && ts.isStringLiteral(property.initializer)
        ? [{ reason: property.initializer.text, meaning: docCommentOf(property) }]
        : [],
    );
    lists.set(declaration.name.getText(), { meaning: docCommentOf(statement), reasons });
  }
  return lists;
}

/**
 * Returns the text of the node's doc comment on one line. Throws when it has none: a reason without meaning
 * is of no use to an admin.
 */
function docCommentOf(node: ts.Node): string {
  const comment = ts
    .getJSDocCommentsAndTags(node)
    .map((doc) => ts.getTextOfJSDocComment(doc.comment) ?? "")
    .join(" ")
    .replace(/\s+/g, " ")
    .trim();
  if (comment === "") throw new Error(`${sourcePath}: ${node.getText().slice(0, 60)} has no doc comment`);
  return comment;
}
