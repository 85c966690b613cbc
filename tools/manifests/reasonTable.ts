import { readFileSync } from "node:fs";
import { join } from "node:path";
import ts from "typescript";

const folder = join(import.meta.dirname, "../../packages/contracts/src/crd");
/** The files that define reasons. */
const sourceNames = ["gameSessionReasons.ts", "gameCache.ts", "gameNodeReasons.ts"];

/** An exported object of reasons, with its doc comment. */
interface ReasonList {
  meaning: string;
  reasons: { reason: string; meaning: string }[];
}

/**
 * Returns Markdown tables of the named reason lists, built from their doc comments.
 *
 * @throws Error When a list or a doc comment is missing.
 */
export function reasonTables(names: readonly string[]): string {
  const lists = readReasonLists();
  return names
    .map((name) => {
      const list = lists.get(name);
      if (list === undefined) throw new Error(`${folder} has no reasons named ${name}`);
      const rows = list.reasons.map(({ reason, meaning }) => `| ${reason} | ${meaning} |`);
      return [list.meaning, "", "| Reason | Meaning |", "|---|---|", ...rows].join("\n");
    })
    .join("\n\n");
}

function readReasonLists(): Map<string, ReasonList> {
  const lists = new Map<string, ReasonList>();
  for (const statement of sourceNames.flatMap((name) => parse(name).statements)) {
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

function parse(name: string): ts.SourceFile {
  return ts.createSourceFile(name, readFileSync(join(folder, name), "utf8"), ts.ScriptTarget.Latest, true);
}

/** Returns the text of the node's doc comment on one line. */
function docCommentOf(node: ts.Node): string {
  const comment = ts
    .getJSDocCommentsAndTags(node)
    .map((doc) => ts.getTextOfJSDocComment(doc.comment) ?? "")
    .join(" ")
    .replace(/\s+/g, " ")
    .trim();
  if (comment === "")
    throw new Error(`${node.getSourceFile().fileName}: ${node.getText().slice(0, 60)} has no doc comment`);
  return comment;
}
