import type { Kind } from "#contracts/crd/kind.ts";
import { structuralSchema, type StructuralSchema } from "./structuralSchema.ts";

/** Returns Markdown tables with every field of a kind's spec and status. */
export function fieldTables(kind: Kind): string {
  return [table("spec", structuralSchema(kind.spec)), table("status", structuralSchema(kind.status))].join(
    "\n\n",
  );
}

function table(root: string, schema: StructuralSchema): string {
  const rows = fields(root, schema).map(
    ({ path, node, isRequired }) =>
      `| \`${path}\` | ${typeOf(node)} | ${isRequired ? "yes" : ""} | ${notes(node)} |`,
  );
  return [`| Field | Type | Required | Meaning |`, `|---|---|---|---|`, ...rows].join("\n");
}

interface Field {
  path: string;
  node: StructuralSchema;
  isRequired: boolean;
}

function fields(path: string, schema: StructuralSchema): Field[] {
  return Object.entries(schema.properties ?? {}).flatMap(([name, node]) => {
    const here = { path: `${path}.${name}`, node, isRequired: schema.required?.includes(name) ?? false };
    const inside =
      node.items?.properties === undefined ? fields(here.path, node) : fields(`${here.path}[]`, node.items);
    return [here, ...inside];
  });
}

function typeOf(node: StructuralSchema): string {
  if (Array.isArray(node["enum"])) return node["enum"].map(String).join(", ");
  if (node.type === "array") return `list of ${node.items?.type ?? "values"}`;
  if (typeof node.additionalProperties === "object") return "map of string";
  return node.format === "date-time" ? "timestamp" : (node.type ?? "any");
}

function notes(node: StructuralSchema): string {
  const { default: fallback, minimum, maximum } = node;
  const facts = [
    node.description,
    typeof minimum === "number" && typeof maximum === "number" && maximum < Number.MAX_SAFE_INTEGER
      ? `${minimum} to ${maximum}.`
      : undefined,
    fallback === undefined || typeof fallback === "object"
      ? undefined
      : `Default \`${JSON.stringify(fallback)}\`.`,
    ...rulesOf(node).map((rule) => `Rule: ${rule}.`),
  ];
  return facts.filter((fact) => fact !== undefined).join(" ");
}

function rulesOf(node: StructuralSchema): string[] {
  const rules = node["x-kubernetes-validations"];
  return Array.isArray(rules) ? rules.map((rule: { message: string }) => rule.message) : [];
}
