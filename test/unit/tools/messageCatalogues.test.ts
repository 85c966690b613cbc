import { expect } from "chai";
import { globSync, readFileSync } from "node:fs";
import ts from "typescript";

const sourceFolder = "web/src";
const localeFolder = `${sourceFolder}/locales/en`;
/** Attributes whose value a player sees or hears, and props of our components that become one. */
const textAttributes = new Set([
  "alt",
  "aria-label",
  "failureTitle",
  "hint",
  "label",
  "name",
  "placeholder",
  "title",
]);
/** Form fields have a technical name. */
const elementsWithPlainName = new Set(["button", "input", "select", "textarea", "Icon"]);
const pluralSuffix = /_(zero|one|two|few|many|other)$/;

interface Source {
  path: string;
  file: ts.SourceFile;
}

const sources: Source[] = globSync(`${sourceFolder}/**/*.{ts,tsx}`).map((path) => ({
  path,
  file: ts.createSourceFile(path, readFileSync(path, "utf8"), ts.ScriptTarget.Latest, true),
}));

/** Returns all nodes of a file. */
function nodesOf(node: ts.Node): ts.Node[] {
  const nodes: ts.Node[] = [];
  const visit = (child: ts.Node): void => {
    nodes.push(child);
    ts.forEachChild(child, visit);
  };
  visit(node);
  return nodes;
}

/** Returns the keys of the catalogues, such as `saves:copy.done`, with plural forms under one key. */
function catalogueKeys(): Set<string> {
  const keysIn = (value: unknown, prefix: string): string[] =>
    typeof value === "object" && value !== null
      ? Object.entries(value).flatMap(([name, child]) => keysIn(child, `${prefix}${name}.`))
      : [prefix.slice(0, -1).replace(pluralSuffix, "")];
  return new Set(
    globSync(`${localeFolder}/*.json`).flatMap((path) => {
      const namespace = path.slice(localeFolder.length + 1, -".json".length);
      return keysIn(JSON.parse(readFileSync(path, "utf8")), `${namespace}:`);
    }),
  );
}

/** Returns patterns of the keys that a file uses. `${…}` in a key stands for one part of it. */
function keyPatternsOf({ file }: Source): { text: string; pattern: RegExp }[] {
  const nodes = nodesOf(file);
  const namespace = nodes.map(defaultNamespaceOf).find((found) => found !== undefined) ?? "common";
  return nodes.flatMap(keyTextsOf).map((text) => {
    const full = text.includes(":") ? text : `${namespace}:${text}`;
    const escaped = full.split("${}").map((part) => part.replaceAll(/[.*+?^$()[\]\\{}|]/g, String.raw`\$&`));
    return { text: full, pattern: new RegExp(`^${escaped.join(String.raw`[^.:]+`)}$`) };
  });
}

/** Returns the first namespace of a `useTranslation` call. */
function defaultNamespaceOf(node: ts.Node): string | undefined {
  if (!ts.isCallExpression(node) || node.expression.getText() !== "useTranslation") return undefined;
  const [argument] = node.arguments;
  if (argument === undefined) return "common";
  const first = ts.isArrayLiteralExpression(argument) ? argument.elements[0] : argument;
  return first !== undefined && ts.isStringLiteral(first) ? first.text : undefined;
}

/** Returns the keys in a `t` call or in the `i18nKey` of a `Trans` element. */
function keyTextsOf(node: ts.Node): string[] {
  if (ts.isCallExpression(node) && node.expression.getText() === "t" && node.arguments[0] !== undefined)
    return literalsOf(node.arguments[0]);
  if (ts.isJsxAttribute(node) && node.name.getText() === "i18nKey" && node.initializer !== undefined)
    return literalsOf(node.initializer);
  return [];
}

function literalsOf(node: ts.Node): string[] {
  if (ts.isJsxExpression(node) || ts.isParenthesizedExpression(node))
    return node.expression === undefined ? [] : literalsOf(node.expression);
  if (ts.isStringLiteralLike(node)) return [node.text];
  if (ts.isConditionalExpression(node)) return [...literalsOf(node.whenTrue), ...literalsOf(node.whenFalse)];
  if (!ts.isTemplateExpression(node)) return [];
  const [head, spans] = [node.head.text, node.templateSpans];
  return [spans.reduce((text, { literal }) => `${text}\${}${literal.text}`, head)];
}

/** Returns the texts in a file's markup that are not from a catalogue. */
function literalTextsOf({ path, file }: Source): string[] {
  return nodesOf(file)
    .filter((node) => isTextInMarkup(node) || isTextInAttribute(node))
    .map((node) => `${path}: ${node.getText().trim()}`);
}

const hasWords = (text: string): boolean => /\p{L}{2}/u.test(text);

function isTextInMarkup(node: ts.Node): boolean {
  if (ts.isJsxText(node)) return hasWords(node.text);
  return ts.isJsxExpression(node) && !ts.isJsxAttribute(node.parent) && isLiteralText(node.expression);
}

function isTextInAttribute(node: ts.Node): boolean {
  if (!ts.isJsxAttribute(node) || !textAttributes.has(node.name.getText())) return false;
  const element = node.parent.parent.tagName.getText();
  if (node.name.getText() === "name" && elementsWithPlainName.has(element)) return false;
  const { initializer } = node;
  return isLiteralText(
    initializer !== undefined && ts.isJsxExpression(initializer) ? initializer.expression : initializer,
  );
}

/** Returns whether the value of an expression is, or contains, words that stand in the source. */
function isLiteralText(node: ts.Node | undefined): boolean {
  if (node === undefined) return false;
  if (ts.isStringLiteralLike(node)) return hasWords(node.text);
  if (ts.isTemplateExpression(node))
    return [node.head, ...node.templateSpans.map(({ literal }) => literal)].some(({ text }) =>
      hasWords(text),
    );
  if (ts.isConditionalExpression(node)) return isLiteralText(node.whenTrue) || isLiteralText(node.whenFalse);
  return ts.isBinaryExpression(node) && isLiteralText(node.right);
}

describe("the message catalogues", () => {
  const keys = catalogueKeys();
  const used = sources.flatMap(keyPatternsOf);

  it("have every key that the page uses", () => {
    const missing = used.filter(({ pattern }) => ![...keys].some((key) => pattern.test(key)));
    expect(missing.map(({ text }) => text)).to.deep.equal([]);
  });

  it("have no key that the page does not use", () => {
    const unused = [...keys].filter((key) => !used.some(({ pattern }) => pattern.test(key)));
    expect(unused).to.deep.equal([]);
  });

  it("hold all text of the page's markup", () => {
    expect(sources.flatMap(literalTextsOf)).to.deep.equal([]);
  });
});

describe("the check of the markup", () => {
  it("finds literal text, and no technical attributes", () => {
    const text = `
      const a = <p title="Some words" className="no words">More words{isOn ? "Yes" : t("key")}</p>;
      const b = <input name="new-password" aria-label={\`Name of \${slot}\`} />;
    `;
    const file = ts.createSourceFile("a.tsx", text, ts.ScriptTarget.Latest, true);
    expect(literalTextsOf({ path: "a", file })).to.deep.equal([
      'a: title="Some words"',
      "a: More words",
      'a: {isOn ? "Yes" : t("key")}',
      "a: aria-label={`Name of ${slot}`}",
    ]);
  });
});
