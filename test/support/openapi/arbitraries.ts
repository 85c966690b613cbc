import fc from "fast-check";
import type { Route } from "#api/http/route.ts";
import {
  isPlain,
  operationOf,
  resolved,
  type KnownValues,
  type SampleRequest,
  type Schema,
} from "./sampleRequest.ts";

/**
 * Returns valid requests of a route according to the document. Values mostly come from `known`, and bodies
 * that are neither JSON nor a form are mostly `goodBody`.
 */
export function validRequests(
  route: Route,
  known: KnownValues,
  goodBody?: unknown,
): fc.Arbitrary<SampleRequest> {
  const { parameters = [], requestBody } = operationOf(route);
  const part = (place: string, isRequired?: true): fc.Arbitrary<Record<string, unknown>> =>
    fieldsOf(
      parameters.filter(
        (parameter) => parameter.in === place && (isRequired === undefined || parameter.required === true),
      ),
      known,
    );
  const [[type, content] = []] = Object.entries(requestBody?.content ?? {});
  const body =
    type === undefined ? fc.constant(undefined) : bodyOf(type, content?.schema ?? {}, known, goodBody);
  const hasRequiredHeader = parameters.some(
    (parameter) => parameter.in === "header" && parameter.required === true,
  );
  const header = fc.oneof(
    { weight: 3, arbitrary: hasRequiredHeader ? part("header", true) : fc.constant({}) },
    { weight: 1, arbitrary: part("header") },
  );
  return fc.record({ path: part("path"), query: part("query"), header, body }).map((request) => ({
    method: route.method,
    path: addressOf(route.path, request.path, request.query),
    headers: {
      ...(type !== undefined && type !== "application/json" && { "content-type": type }),
      ...sendable(request.header),
    },
    ...(request.body !== undefined && { body: request.body }),
  }));
}

/** Returns values that a schema allows. */
export function valuesOf(reference: Schema, known: KnownValues = {}): fc.Arbitrary<unknown> {
  const schema = resolved(reference);
  const choices = schema.anyOf ?? schema.oneOf;
  if (choices !== undefined) return fc.oneof(...choices.map((choice) => valuesOf(choice, known)));
  if (schema.enum !== undefined) return fc.constantFrom(...schema.enum);
  switch (schema.type) {
    case "object":
      return objectsOf(schema, known);
    case "array":
      return fc.array(valuesOf(schema.items ?? {}, known), { maxLength: Math.min(3, schema.maxItems ?? 3) });
    case "boolean":
      return fc.boolean();
    case "integer":
    case "number":
      return numbersOf(schema);
    case "null":
      return fc.constant(null);
    case "string":
      return stringsOf(schema);
    default:
      return fc.jsonValue({ maxDepth: 2 });
  }
}

function numbersOf({ minimum = -1000, maximum = 1000, multipleOf = 1 }: Schema): fc.Arbitrary<number> {
  const [min, max] = [Math.ceil(minimum / multipleOf), Math.floor(Math.min(maximum, 2 ** 31) / multipleOf)];
  return fc.integer({ min, max }).map((times) => times * multipleOf);
}

function objectsOf(
  { properties = {}, required = [] }: Schema,
  known: KnownValues,
): fc.Arbitrary<Record<string, unknown>> {
  const named = Object.entries(properties).map(([name, schema]) => ({
    name,
    schema,
    required: required.includes(name),
  }));
  return fieldsOf(named, known);
}

function fieldsOf(
  fields: readonly { name: string; schema: Schema; required?: boolean }[],
  known: KnownValues,
): fc.Arbitrary<Record<string, unknown>> {
  const optional = fields.filter(({ required }) => required !== true).map(({ name }) => name);
  const all = fc.record(
    Object.fromEntries(
      fields.map(({ name, schema }) => {
        const value = known[name];
        const anything = valuesOf(schema, known);
        return [
          name,
          value === undefined
            ? anything
            : fc.oneof(
                { weight: 3, arbitrary: fc.constant<unknown>(value) },
                { weight: 1, arbitrary: anything },
              ),
        ];
      }),
    ),
  );
  return fc
    .tuple(all, fc.subarray(optional))
    .map(([values, left]) =>
      Object.fromEntries(Object.entries(values).filter(([name]) => !left.includes(name))),
    );
}

function stringsOf(schema: Schema): fc.Arbitrary<string> {
  const { format, minLength = 0, maxLength = 60 } = schema;
  if (format === "uri") return fc.webUrl({ validSchemes: ["https"] });
  if (format === "date")
    return fc
      .date({ min: new Date("1990-01-01"), max: new Date("2040-01-01"), noInvalidDate: true })
      .map((day) => day.toISOString().slice(0, 10));
  const patterns = [schema.pattern, ...(schema.allOf ?? []).map(({ pattern }) => pattern)].filter(
    (pattern) => pattern !== undefined,
  );
  const fits = (text: string): boolean =>
    text.length >= minLength &&
    text.length <= maxLength &&
    patterns.every((pattern) => new RegExp(pattern, "u").test(text));
  const [only] = patterns;
  const shaped =
    patterns.length === 1 && only !== undefined && !isExclusion(only)
      ? fc.stringMatching(new RegExp(only), { maxLength: Math.min(maxLength, 60) })
      : fc.string({
          minLength: Math.min(minLength, 60),
          maxLength: Math.min(maxLength, 60),
          unit: "grapheme-composite",
        });
  return shaped.filter(fits);
}

/** Returns true if a pattern only excludes characters, so that any text may match. */
function isExclusion(pattern: string): boolean {
  return /^\^(?:\(\?:)?\[\^/.test(pattern);
}

function bodyOf(type: string, schema: Schema, known: KnownValues, goodBody: unknown): fc.Arbitrary<unknown> {
  if (isPlain(type)) {
    const anything = fc.uint8Array({ maxLength: 200 });
    return goodBody === undefined
      ? anything
      : fc.oneof({ weight: 3, arbitrary: fc.constant(goodBody) }, { weight: 1, arbitrary: anything });
  }
  const values = valuesOf(schema, known);
  return type === "application/x-www-form-urlencoded"
    ? values.map((fields) => new URLSearchParams(words(fields)).toString())
    : values;
}

function addressOf(pattern: string, path: Record<string, unknown>, query: Record<string, unknown>): string {
  const parameters = new URLSearchParams(words(query)).toString();
  const address = Object.entries(words(path)).reduce(
    (text, [name, value]) => text.replace(`:${name}`, () => encodeURIComponent(value)),
    pattern,
  );
  return parameters === "" ? address : `${address}?${parameters}`;
}

function words(fields: unknown): Record<string, string> {
  return Object.fromEntries(
    Object.entries(fields as Record<string, unknown>).map(([name, value]) => [
      name,
      typeof value === "string" ? value : JSON.stringify(value),
    ]),
  );
}

/** Removes header values that HTTP cannot transmit. */
function sendable(headers: Record<string, unknown>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(words(headers)).filter(
      ([, value]) => /^[\x21-\x7e][\x20-\x7e]*$/.test(value) && value.trim() === value,
    ),
  );
}
