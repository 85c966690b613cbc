import { z } from "zod";

/** A node of a Kubernetes structural schema. */
export interface StructuralSchema {
  type?: string;
  format?: string;
  description?: string;
  properties?: Record<string, StructuralSchema>;
  items?: StructuralSchema;
  additionalProperties?: StructuralSchema | boolean;
  required?: string[];
  [keyword: string]: unknown;
}

/** Converts a zod schema to the structural schema of a CustomResourceDefinition. */
export function structuralSchema(schema: z.ZodType): StructuralSchema {
  return tidy(
    z.toJSONSchema(schema, { target: "openapi-3.0", io: "input", reused: "inline" }) as StructuralSchema,
  );
}

/**
 * The API server prunes unknown fields, and forbids `additionalProperties: false` together with `properties`,
 * so it is removed. Integers have 64 bits. A date-time is validated by its format instead of a pattern.
 */
function tidy(node: StructuralSchema): StructuralSchema {
  const { properties, items, additionalProperties, ...rest } = node;
  const tidied: StructuralSchema = { ...rest };
  delete tidied["propertyNames"];
  if (tidied.type === "integer") tidied.format = "int64";
  if (tidied.format === "date-time") delete tidied["pattern"];
  if (properties !== undefined) {
    tidied.properties = Object.fromEntries(
      Object.entries(properties).map(([name, child]) => [name, tidy(child)]),
    );
  }
  if (items !== undefined) tidied.items = tidy(items);
  if (typeof additionalProperties === "object") tidied.additionalProperties = tidy(additionalProperties);
  return tidied;
}
