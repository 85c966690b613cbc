import { basename } from "node:path";
import { ambiguous, fileNames, unmistakable } from "./retiredTerms.js";

/**
 * Names, comments and sentences say the field's terms. A name is checked where it is declared, so that the
 * names of libraries pass; `const { answer } = message` declares none. A string is a sentence when it has a
 * space.
 */
export const fieldTerms = {
  meta: {
    type: "suggestion",
    schema: [],
    messages: {
      name: "“{{name}}” has a retired term. Say {{say}}.",
      file: "The file's name “{{name}}” has a retired term. Say {{say}}.",
      text: "“{{name}}” is a retired term. Say {{say}}.",
      returns: "A doc comment says what is returned: “returns” in place of “gives”.",
    },
  },
  create(context) {
    const { sourceCode } = context;

    function checkName(identifier, { terms = [...unmistakable, ...ambiguous], ...use } = {}) {
      const words = wordsOf(identifier.name);
      const told = { isProperty: false, isSchema: false, typeNames: [], sources: [], ...use };
      const term = terms.find(({ name, isPublic }) => name(words) && !isPublic?.(words, told));
      if (term)
        context.report({
          node: identifier,
          messageId: "name",
          data: { name: identifier.name, say: term.say },
        });
    }

    /** Checks what a pattern declares, but for names that it takes over from an object's properties. */
    function checkPattern(pattern, use) {
      switch (pattern?.type) {
        case "Identifier":
          return checkName(pattern, {
            ...use,
            typeNames: [...(use?.typeNames ?? []), ...typeNamesIn(pattern.typeAnnotation)],
          });
        case "ObjectPattern":
          return pattern.properties.forEach((property) => {
            if (property.type === "RestElement") checkPattern(property.argument, use);
            else if (!property.shorthand)
              checkPattern(property.value, {
                ...use,
                sources: [...(use?.sources ?? []), ...namesIn(property.key)],
              });
          });
        case "ArrayPattern":
          return pattern.elements.forEach((element) => checkPattern(element, use));
        case "AssignmentPattern":
          return checkPattern(pattern.left, use);
        case "RestElement":
          return checkPattern(pattern.argument, use);
        case "TSParameterProperty":
          return checkPattern(pattern.parameter, use);
        default:
          return undefined;
      }
    }

    /** A callback's parameters come from what it is passed to: `stages.map((stage) => …)`. */
    function checkFunction(node) {
      if (node.id) checkName(node.id);
      const sources = node.parent.type === "CallExpression" ? namesIn(node.parent.callee) : [];
      for (const parameter of node.params) checkPattern(parameter, { sources });
    }

    function checkMember({ key, computed, typeAnnotation, parent }) {
      if (computed || !["Identifier", "PrivateIdentifier"].includes(key?.type)) return;
      // What a literal's keys are called, its type says: only what no interface can have is refused here.
      if (parent.type === "ObjectExpression") checkName(key, { terms: unmistakable });
      else checkName(key, { isProperty: true, typeNames: typeNamesIn(typeAnnotation) });
    }

    /** Whether a list is that of a schema's values: `z.enum(launchStages)`. */
    function isValuesOfSchema(declarator) {
      return sourceCode
        .getDeclaredVariables(declarator)
        .some(({ references }) =>
          references.some(
            ({ identifier: { parent } }) => parent.type === "CallExpression" && isSchema(parent),
          ),
        );
    }

    function checkText(text, node, loc) {
      for (const { text: pattern, say } of unmistakable) {
        const [name] = pattern.exec(text) ?? [];
        if (name !== undefined)
          context.report({ ...(loc ? { loc } : { node }), messageId: "text", data: { name, say } });
      }
    }

    function checkSentence(text, node) {
      if (text.includes(" ")) checkText(text, node);
    }

    return {
      Program() {
        checkFileName(context);
        for (const { type, value, loc } of sourceCode.getAllComments()) {
          const text = value.replaceAll(/\n\s*\* ?/g, " ").replace(/^\*\s*/, "");
          checkText(text, undefined, loc);
          const isDocComment = type === "Block" && value.startsWith("*");
          if (isDocComment && /(^|[.;:]\s+)gives\b(?! (up|way)\b)/i.test(text))
            context.report({ loc, messageId: "returns" });
        }
      },
      VariableDeclarator: (node) =>
        checkPattern(node.id, {
          sources: namesIn(node.init),
          isSchema: isSchema(node.init) || isValuesOfSchema(node),
        }),
      ":function": checkFunction,
      "TSDeclareFunction, TSEmptyBodyFunctionExpression": checkFunction,
      "ClassDeclaration, ClassExpression, TSInterfaceDeclaration, TSEnumDeclaration": ({ id }) =>
        id && checkName(id),
      TSTypeAliasDeclaration: ({ id, typeAnnotation }) =>
        checkName(id, { isSchema: isInferred(typeAnnotation) }),
      "PropertyDefinition, MethodDefinition, AccessorProperty, TSPropertySignature, TSMethodSignature":
        checkMember,
      "ObjectExpression > Property:not([shorthand=true])": checkMember,
      "CatchClause > Identifier.param": (id) => checkName(id),
      "TSLiteralType > Literal[value=/^(Well|Doubtful)$/]": (node) =>
        context.report({
          node,
          messageId: "name",
          data: { name: node.value, say: node.value === "Well" ? "Healthy" : "Unknown" },
        }),
      Literal: (node) => typeof node.value === "string" && checkSentence(node.value, node),
      TemplateLiteral: (node) => checkSentence(node.quasis.map(({ value }) => value.cooked).join("…"), node),
      JSXText: (node) => checkSentence(node.value, node),
    };
  },
};

function checkFileName(context) {
  const [name = ""] = basename(context.filename).split(".", 1);
  const words = wordsOf(name);
  const none = { isProperty: false, isSchema: false, typeNames: [], sources: [] };
  const term = [...unmistakable, ...ambiguous].find(
    (each) => each.name(words) && !each.isPublic?.(words, none),
  );
  const say = term?.say ?? (Object.hasOwn(fileNames, name) ? fileNames[name] : undefined);
  if (say !== undefined)
    context.report({ loc: { line: 1, column: 0 }, messageId: "file", data: { name, say } });
}

/** The words of a name in lower case: `isStoreAway`, `STORE_AWAY` and `StoreHTTPAnswer` alike. */
function wordsOf(name) {
  return (name.match(/[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+/g) ?? []).map((word) => word.toLowerCase());
}

/** The names that an expression reads, as far as they say what comes of it. */
function namesIn(node) {
  switch (node?.type) {
    case "Identifier":
    case "PrivateIdentifier":
      return [node.name];
    case "Literal":
      return [String(node.value)];
    case "MemberExpression":
      return [...namesIn(node.object), ...namesIn(node.property)];
    case "CallExpression":
    case "NewExpression":
      return namesIn(node.callee);
    case "AwaitExpression":
    case "SpreadElement":
      return namesIn(node.argument);
    case "LogicalExpression":
      return [...namesIn(node.left), ...namesIn(node.right)];
    case "ChainExpression":
    case "TSNonNullExpression":
    case "TSAsExpression":
      return namesIn(node.expression);
    default:
      return [];
  }
}

/** The names of the types that an annotation is made of; `Session["stage"]` names the field, too. */
function typeNamesIn(node) {
  if (!node || typeof node !== "object") return [];
  if (Array.isArray(node)) return node.flatMap(typeNamesIn);
  switch (node.type) {
    case "TSTypeAnnotation":
      return typeNamesIn(node.typeAnnotation);
    case "TSTypeReference":
      return [
        node.typeName.name ?? node.typeName.right?.name ?? "",
        ...typeNamesIn(node.typeArguments?.params),
      ];
    case "TSIndexedAccessType":
      return [...typeNamesIn(node.objectType), ...typeNamesIn(node.indexType)];
    case "TSLiteralType":
      return [String(node.literal.value)];
    case "TSArrayType":
      return typeNamesIn(node.elementType);
    case "TSTypeOperator":
      return typeNamesIn(node.typeAnnotation);
    case "TSUnionType":
      return typeNamesIn(node.types);
    default:
      return [];
  }
}

/** Whether an expression makes a zod schema, which is what an interface is written in. */
function isSchema(node) {
  for (
    let inner = node;
    inner;
    inner =
      inner.type === "CallExpression"
        ? inner.callee
        : inner.type === "MemberExpression"
          ? inner.object
          : undefined
  ) {
    if (inner.type === "Identifier") return inner.name === "z";
  }
  return false;
}

function isInferred(node) {
  return (
    node?.type === "TSTypeReference" &&
    node.typeName.type === "TSQualifiedName" &&
    node.typeName.left.name === "z"
  );
}
