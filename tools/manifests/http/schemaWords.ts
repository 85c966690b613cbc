/** One node of the document's JSON schemas, as far as the reference shows it. */
export interface SchemaNode {
  $ref?: string;
  type?: string | string[];
  format?: string;
  enum?: unknown[];
  const?: unknown;
  description?: string;
  default?: unknown;
  minimum?: number;
  maximum?: number;
  minItems?: number;
  maxItems?: number;
  minLength?: number;
  maxLength?: number;
  items?: SchemaNode;
  properties?: Record<string, SchemaNode>;
  additionalProperties?: SchemaNode | boolean;
  required?: string[];
  anyOf?: SchemaNode[];
  oneOf?: SchemaNode[];
}

/** The type of a value in a few words, with links to named shapes. */
export function typeWords(node: SchemaNode): string {
  if (node.$ref !== undefined) return shapeLink(nameOf(node.$ref));
  if (node.const !== undefined) return code(node.const);
  if (node.enum !== undefined) return node.enum.map(code).join(", ");
  const choices = node.anyOf ?? node.oneOf;
  if (choices !== undefined) return choices.map(typeWords).join(" or ");
  if (Array.isArray(node.type)) return node.type.join(" or ");
  if (node.type === "array") return listWords(node);
  if (typeof node.additionalProperties === "object" && node.properties === undefined)
    return `object of ${typeWords(node.additionalProperties)} by id`;
  if (node.type === "object" && node.properties !== undefined) return inlineObject(node.properties);
  return [
    node.format === "date-time" ? "ISO 8601 time" : (node.type ?? "anything"),
    ...boundWords(node),
  ].join(", ");
}

/** What the description and the default say, in one table cell. */
export function meaningWords(node: SchemaNode): string {
  const fallback = node.default === undefined ? undefined : `Default ${code(node.default)}.`;
  return [node.description, fallback]
    .filter((part) => part !== undefined)
    .join(" ")
    .replaceAll("|", "\\|")
    .replaceAll("\n", " ");
}

/** A named shape's own place in the reference. */
function shapeLink(name: string): string {
  return `[${name}](#${name.toLowerCase()})`;
}

/** The name at the end of a `$ref`. */
function nameOf(reference: string): string {
  return reference.slice(reference.lastIndexOf("/") + 1);
}

function listWords({ items = {}, minItems, maxItems }: SchemaNode): string {
  if (minItems !== undefined && minItems === maxItems)
    return `list of exactly ${minItems} ${typeWords(items)}`;
  return `list of ${maxItems === undefined ? "" : `at most ${maxItems} `}${typeWords(items)}`;
}

function inlineObject(properties: Record<string, SchemaNode>): string {
  const names = Object.entries(properties).map(([name, node]) => `${name}: ${typeWords(node)}`);
  return names.length === 0 ? "`{}`" : `{ ${names.join("; ")} }`;
}

function boundWords({ type, minimum, maximum, minLength, maxLength }: SchemaNode): string[] {
  const huge = Number.MAX_SAFE_INTEGER;
  if (minimum !== undefined && maximum !== undefined && maximum < huge) return [`${minimum} to ${maximum}`];
  if (minimum !== undefined && minimum > -huge) return [`at least ${minimum}`];
  if (type !== "string" || maxLength === undefined) return [];
  return [
    minLength === undefined ? `at most ${maxLength} characters` : `${minLength} to ${maxLength} characters`,
  ];
}

function code(value: unknown): string {
  return `\`${typeof value === "string" ? value : JSON.stringify(value)}\``;
}
