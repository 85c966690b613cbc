import type { Method, Route } from "#api/http/route.ts";
import { documentPath } from "#api/http/openapi/document.ts";
import { wholeInterface } from "./interfaceDocument.ts";

/** A request as a client would send it. */
export interface SampleRequest {
  method: Method;
  path: string;
  body?: unknown;
  headers: Record<string, string>;
}

/**
 * Values by the name of a field or parameter, such as `slug`. Other values come from the document's examples.
 */
export type KnownValues = Readonly<Record<string, string>>;

/** The parts of a schema that are used to build requests. */
export interface Schema {
  $ref?: string;
  type?: string;
  format?: string;
  pattern?: string;
  minLength?: number;
  maxLength?: number;
  minimum?: number;
  maximum?: number;
  multipleOf?: number;
  maxItems?: number;
  items?: Schema;
  anyOf?: Schema[];
  oneOf?: Schema[];
  allOf?: Schema[];
  examples?: unknown[];
  default?: unknown;
  enum?: unknown[];
  properties?: Record<string, Schema>;
  required?: string[];
}
interface Operation {
  parameters?: { in: string; name: string; required?: boolean; schema: Schema }[];
  requestBody?: { content: Record<string, { schema?: Schema }> };
}

/** Returns the simplest valid request of a route, with only what it requires. */
export function sampleRequest(route: Route, known: KnownValues): SampleRequest {
  const { parameters = [], requestBody } = operationOf(route);
  const valueOf = (name: string, schema: Schema): string => known[name] ?? String(sampleOf(schema, known));
  const path = parameters
    .filter((parameter) => parameter.in === "path")
    .reduce(
      (text, { name, schema }) => text.replace(`:${name}`, encodeURIComponent(valueOf(name, schema))),
      route.path,
    );
  const query = new URLSearchParams(
    parameters
      .filter((parameter) => parameter.in === "query" && parameter.required === true)
      .map(({ name, schema }): [string, string] => [name, valueOf(name, schema)]),
  );
  const [[type, content] = []] = Object.entries(requestBody?.content ?? {});
  return {
    method: route.method,
    path: query.size === 0 ? path : `${path}?${query.toString()}`,
    headers: {
      ...(type !== undefined && type !== "application/json" && { "content-type": type }),
      ...Object.fromEntries(
        parameters
          .filter((parameter) => parameter.in === "header" && parameter.required === true)
          .map(({ name, schema }) => [name, valueOf(name, schema)]),
      ),
    },
    ...(type !== undefined && { body: bodyOf(type, content?.schema ?? {}, known) }),
  };
}

/** Returns the operation of a route in the document. */
export function operationOf({ method, path, name }: Route): Operation {
  const item = wholeInterface().document.paths?.[documentPath(path)] as Record<string, Operation> | undefined;
  const operation = item?.[method.toLowerCase()];
  if (operation === undefined) throw new Error(`The document lacks ${name}.`);
  return operation;
}

/** Returns the schema with its reference resolved. */
export function resolved(schema: Schema): Schema {
  if (schema.$ref === undefined) return schema;
  const name = schema.$ref.slice(schema.$ref.lastIndexOf("/") + 1);
  const found = wholeInterface().document.components?.schemas?.[name] as Schema | undefined;
  if (found === undefined) throw new Error(`The document lacks ${schema.$ref}.`);
  return resolved(found);
}

/** Returns true if bodies of the media type are sent unchanged, neither as JSON nor as a form. */
export function isPlain(type: string): boolean {
  return type !== "application/json" && type !== "application/x-www-form-urlencoded";
}

function bodyOf(type: string, schema: Schema, known: KnownValues): unknown {
  if (isPlain(type)) return "v=0";
  const value = sampleOf(schema, known);
  return type === "application/x-www-form-urlencoded"
    ? new URLSearchParams(value as Record<string, string>).toString()
    : value;
}

function sampleOf(reference: Schema, known: KnownValues): unknown {
  const schema = resolved(reference);
  if (schema.properties !== undefined) {
    const { properties, required = [] } = schema;
    return Object.fromEntries(
      required.map((name) => [name, known[name] ?? sampleOf(properties[name] ?? {}, known)]),
    );
  }
  const value = schema.examples?.[0] ?? schema.default ?? schema.enum?.[0];
  if (value !== undefined) return value;
  if (schema.type === "array") return [];
  if (schema.type === "boolean") return true;
  return schema.type === "integer" || schema.type === "number" ? 1 : "sample";
}
