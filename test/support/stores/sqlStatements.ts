import { join, relative } from "node:path";
import ts from "typescript";
import { repositoryRoot } from "../processes/programs.ts";

/** The type of a column in TypeScript, as node-postgres returns it. */
export type ColumnKind = "string" | "number" | "boolean" | "Date" | "Buffer" | "json" | `${string}[]`;

/** One column of a row type. */
export interface RowField {
  kinds: ColumnKind[];
  isNullable: boolean;
}

/** A SQL statement in source code. */
export interface SqlStatement {
  /** File and line, relative to the repository. */
  place: string;
  /** The function that runs it. */
  caller: string;
  /** Possible texts of the statement; undefined if they are not constant. */
  texts: string[] | undefined;
  /** The row type in the code; undefined if it reads no rows. */
  row: Map<string, RowField> | undefined;
}

/** Templates with more possible texts are not expanded. */
const textsMax = 64;

/** Returns every statement that the TypeScript files of a folder pass to `query`. */
export function sqlStatementsOf(folder: string): SqlStatement[] {
  const configPath = join(repositoryRoot, "tsconfig.json");
  const { config } = ts.readConfigFile(configPath, (path) => ts.sys.readFile(path)) as { config: object };
  const { options } = ts.parseJsonConfigFileContent({ ...config, include: [] }, ts.sys, repositoryRoot);
  const files = ts.sys.readDirectory(join(repositoryRoot, folder), [".ts"]);
  const program = ts.createProgram(files, options);
  const finder = new StatementFinder(program.getTypeChecker());
  for (const file of program.getSourceFiles()) if (files.includes(file.fileName)) finder.visit(file);
  return finder.found;
}

class StatementFinder {
  readonly found: SqlStatement[] = [];
  readonly #checker: ts.TypeChecker;
  /** Values of the parameters that make up the text being read. */
  readonly #arguments = new Map<ts.Symbol, string[]>();

  constructor(checker: ts.TypeChecker) {
    this.#checker = checker;
  }

  visit(node: ts.Node): void {
    if (
      ts.isCallExpression(node) &&
      ts.isPropertyAccessExpression(node.expression) &&
      node.expression.name.text === "query" &&
      node.arguments[0] !== undefined
    ) {
      const file = node.getSourceFile();
      const { line } = file.getLineAndCharacterOfPosition(node.getStart());
      this.found.push({
        place: `${relative(repositoryRoot, file.fileName)}:${line + 1}`,
        caller: callerOf(node),
        texts: this.#textsOf(node.arguments[0]),
        row: node.typeArguments?.[0] && this.#rowOf(this.#checker.getTypeFromTypeNode(node.typeArguments[0])),
      });
    }
    ts.forEachChild(node, (child) => this.visit(child));
  }

  /** Returns the texts of an argument of `query`: a string, or an object with `text`. */
  #textsOf(argument: ts.Expression): string[] | undefined {
    if (!ts.isObjectLiteralExpression(argument)) return this.#stringsOf(argument);
    for (const property of argument.properties) {
      if (property.name?.getText() !== "text") continue;
      if (ts.isPropertyAssignment(property)) return this.#stringsOf(property.initializer);
      if (ts.isShorthandPropertyAssignment(property)) {
        const symbol = this.#checker.getShorthandAssignmentValueSymbol(property);
        return this.#stringsOfSymbol(symbol);
      }
    }
    return undefined;
  }

  /** Returns the possible values of an expression as strings, or undefined if they are not constant. */
  #stringsOf(node: ts.Expression): string[] | undefined {
    if (ts.isParenthesizedExpression(node) || ts.isAsExpression(node) || ts.isSatisfiesExpression(node))
      return this.#stringsOf(node.expression);
    if (ts.isStringLiteralLike(node) || ts.isNumericLiteral(node)) return [node.text];
    if (ts.isTemplateExpression(node)) return this.#stringsOfTemplate(node);
    if (ts.isBinaryExpression(node) && node.operatorToken.kind === ts.SyntaxKind.PlusToken)
      return concatenated(this.#stringsOf(node.left), this.#stringsOf(node.right));
    if (ts.isConditionalExpression(node)) {
      const [left, right] = [this.#stringsOf(node.whenTrue), this.#stringsOf(node.whenFalse)];
      return left && right && bounded([...left, ...right]);
    }
    if (ts.isCallExpression(node)) return this.#stringsOfCall(node);
    const type = this.#checker.getTypeAtLocation(node);
    if (type.isStringLiteral() || type.isNumberLiteral()) return [String(type.value)];
    if (ts.isIdentifier(node))
      return this.#stringsOfSymbol(this.#checker.getSymbolAtLocation(node)) ?? numberOf(type);
    if (ts.isPropertyAccessExpression(node))
      return this.#stringsOfSymbol(this.#checker.getSymbolAtLocation(node.name)) ?? numberOf(type);
    return numberOf(type);
  }

  #stringsOfSymbol(symbol: ts.Symbol | undefined): string[] | undefined {
    const target =
      symbol !== undefined && (symbol.flags & ts.SymbolFlags.Alias) !== 0
        ? this.#checker.getAliasedSymbol(symbol)
        : symbol;
    if (target === undefined) return undefined;
    const argument = this.#arguments.get(target);
    if (argument !== undefined) return argument;
    const declaration = target.valueDeclaration;
    if (declaration === undefined) return undefined;
    if (ts.isVariableDeclaration(declaration) || ts.isPropertyAssignment(declaration))
      return declaration.initializer && this.#stringsOf(declaration.initializer);
    return undefined;
  }

  /** Returns the possible values of a call to a function that only returns a text. */
  #stringsOfCall(call: ts.CallExpression): string[] | undefined {
    const declaration = this.#checker.getResolvedSignature(call)?.declaration;
    if (declaration === undefined || !("body" in declaration) || declaration.body === undefined)
      return undefined;
    const { body } = declaration;
    const [statement, another] = ts.isBlock(body) ? body.statements : [];
    const returned = ts.isBlock(body)
      ? statement !== undefined && another === undefined && ts.isReturnStatement(statement)
        ? statement.expression
        : undefined
      : body;
    if (returned === undefined) return undefined;
    declaration.parameters.forEach((parameter, index) => {
      const symbol = this.#checker.getSymbolAtLocation(parameter.name);
      const argument = call.arguments[index];
      const texts = argument && this.#stringsOf(argument);
      if (symbol !== undefined && texts !== undefined) this.#arguments.set(symbol, texts);
    });
    return this.#stringsOf(returned);
  }

  #stringsOfTemplate(node: ts.TemplateExpression): string[] | undefined {
    let texts: string[] | undefined = [node.head.text];
    for (const span of node.templateSpans)
      texts = concatenated(concatenated(texts, this.#stringsOf(span.expression)), [span.literal.text]);
    return texts;
  }

  #rowOf(type: ts.Type): Map<string, RowField> {
    return new Map(
      this.#checker.getPropertiesOfType(type).map((property) => {
        const fieldType = this.#checker.getTypeOfSymbol(property);
        const parts = fieldType.isUnion() ? fieldType.types : [fieldType];
        const kinds = parts.filter((part) => (part.flags & nothing) === 0).map((part) => this.#kindOf(part));
        return [
          property.name,
          {
            kinds: [...new Set(kinds)],
            isNullable: parts.some((part) => (part.flags & (ts.TypeFlags.Null | ts.TypeFlags.Unknown)) !== 0),
          },
        ];
      }),
    );
  }

  #kindOf(type: ts.Type): ColumnKind {
    if ((type.flags & ts.TypeFlags.StringLike) !== 0) return "string";
    if ((type.flags & ts.TypeFlags.NumberLike) !== 0) return "number";
    if ((type.flags & ts.TypeFlags.BooleanLike) !== 0) return "boolean";
    const element = this.#checker.isArrayType(type)
      ? this.#checker.getTypeArguments(type as ts.TypeReference)[0]
      : undefined;
    if (element !== undefined) {
      const parts = element.isUnion() ? element.types : [element];
      return `${this.#kindOf(parts[0] ?? element)}[]`;
    }
    const name = type.getSymbol()?.name;
    return name === "Date" || name === "Buffer" ? name : "json";
  }
}

const nothing = ts.TypeFlags.Null | ts.TypeFlags.Undefined;

function callerOf(node: ts.Node): string {
  const named = ts.findAncestor(
    node,
    (parent) =>
      (ts.isFunctionDeclaration(parent) || ts.isMethodDeclaration(parent)) && parent.name !== undefined,
  );
  return (named as ts.FunctionDeclaration | undefined)?.name?.getText() ?? "";
}

/** Numbers that are not constant, such as a configured limit, do not affect a row's type. */
function numberOf(type: ts.Type): string[] | undefined {
  return (type.flags & ts.TypeFlags.NumberLike) !== 0 ? ["1"] : undefined;
}

function concatenated(left: string[] | undefined, right: string[] | undefined): string[] | undefined {
  if (left === undefined || right === undefined) return undefined;
  return bounded(left.flatMap((start) => right.map((end) => start + end)));
}

function bounded(texts: string[]): string[] | undefined {
  return texts.length <= textsMax ? texts : undefined;
}
