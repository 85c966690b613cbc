import addFormats from "ajv-formats";
import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import { errors } from "#contracts/http/errors.ts";
import type { OpenApiDocument } from "#api/http/openapi/document.ts";
import { wholeInterface } from "./interfaceDocument.ts";
import { strictlyObjects } from "./strictSchemas.ts";

/** A response as received by a client. */
export interface SeenResponse {
  method: string;
  /** Path with its query. */
  path: string;
  status: number;
  headers: Headers;
  text: string;
}

interface Header {
  required?: boolean;
  schema: object;
}
interface Response {
  headers?: Record<string, Header>;
  content?: Record<string, { schema: object }>;
}
interface Operation {
  responses: Record<string, Response>;
}

/** Compares responses with the OpenAPI document: status, media type, headers and every field of the body. */
export class DocumentCheck {
  readonly #ajv = new Ajv2020({ strict: false, allErrors: true });
  readonly #paths: { pattern: RegExp; isExact: boolean; operations: Record<string, Operation> }[];
  readonly #validators = new Map<object, ValidateFunction>();

  constructor(document: OpenApiDocument) {
    addFormats.default(this.#ajv);
    const strict = strictlyObjects(document);
    this.#ajv.addSchema(strict, "document");
    this.#paths = Object.entries(strict.paths ?? {}).map(([path, operations]) => ({
      pattern: new RegExp(`^${path.replaceAll(/[.]/g, "\\.").replaceAll(/\{\w+\}/g, "[^/]+")}$`),
      isExact: !path.includes("{"),
      operations: resolveAll(operations, strict) as Record<string, Operation>,
    }));
  }

  /**
   * Checks a response.
   *
   * @throws With all differences from the document.
   */
  check(seen: SeenResponse): void {
    const problems = this.#problemsOf(seen);
    if (problems.length === 0) return;
    const { method, path, status, text } = seen;
    throw new Error(
      `${method} ${path} answered ${status}, not as documented:\n- ${problems.join("\n- ")}\n${text.slice(0, 500)}`,
    );
  }

  #problemsOf(seen: SeenResponse): string[] {
    const { method, status, headers } = seen;
    if (isBareErrorResponse(seen)) return bareErrorResponseProblems(seen);
    const [path = ""] = seen.path.split("?", 1);
    const operations = this.#operationsAt(path);
    if (operations === undefined)
      return isPage(seen, path) ? [] : this.#errorResponseProblems(seen, 404, "not_found");
    if (method === "OPTIONS")
      return [
        ...(status === 204 ? [] : [`status ${status} instead of 204`]),
        ...(headers.has("allow") ? [] : ["no Allow"]),
      ];
    const operation = operations[method === "HEAD" ? "get" : method.toLowerCase()];
    if (operation === undefined)
      return [
        ...this.#errorResponseProblems(seen, 405, "method_not_allowed"),
        ...(headers.has("allow") ? [] : ["no Allow"]),
      ];
    const response = operation.responses[String(status)];
    if (response === undefined)
      return [`the status is not documented: only ${Object.keys(operation.responses).join(", ")}`];
    return [...this.#headerProblems(response, headers), ...this.#bodyProblems(response, seen)];
  }

  /**
   * Returns the operations of a path. Exact paths take precedence over those with parameters, as in the
   * router.
   */
  #operationsAt(path: string): Record<string, Operation> | undefined {
    const fitting = this.#paths.filter(({ pattern }) => pattern.test(path));
    return (fitting.find(({ isExact }) => isExact) ?? fitting[0])?.operations;
  }

  #headerProblems({ headers: documented = {} }: Response, headers: Headers): string[] {
    return Object.entries(documented).flatMap(([name, { required = false, schema }]) => {
      const values =
        name === "Set-Cookie"
          ? headers.getSetCookie()
          : [headers.get(name)].filter((value) => value !== null);
      if (values.length === 0) return required ? [`the header ${name} is missing`] : [];
      return values.flatMap((value) => this.#schemaProblems(schema, value, `the header ${name}`));
    });
  }

  #bodyProblems({ content = {} }: Response, { method, headers, text }: SeenResponse): string[] {
    const types = Object.keys(content);
    const type = headers.get("content-type")?.split(";", 1)[0] ?? "";
    if (types.length === 0) return text === "" ? [] : ["there is a body, and none is documented"];
    if (!types.includes(type))
      return [`the media type is ${JSON.stringify(type)}, not ${types.join(" or ")}`];
    if (method === "HEAD") return text === "" ? [] : ["HEAD has a body"];
    const schema = content[type]?.schema;
    if (type !== "application/json" || schema === undefined) return [];
    return this.#schemaProblems(schema, parse(text), "the body");
  }

  #errorResponseProblems(
    { method, status, headers, text }: SeenResponse,
    expected: number,
    error: string,
  ): string[] {
    const body = parse(text);
    const isJson = headers.get("content-type") === "application/json; charset=utf-8";
    const isErrorResponse =
      typeof body === "object" && body !== null && "error" in body && body.error === error;
    return status === expected && isJson && (isErrorResponse || method === "HEAD")
      ? []
      : [`it should be ${expected} ${error} as JSON`];
  }

  #schemaProblems(schema: object, value: unknown, what: string): string[] {
    const validate = this.#validators.get(schema) ?? this.#ajv.compile(schema);
    this.#validators.set(schema, validate);
    if (validate(value)) return [];
    return (validate.errors ?? []).map(
      ({ instancePath, message = "", params }) =>
        `${what}${instancePath} ${message} ${JSON.stringify(params)}`,
    );
  }
}

const serverCodes = [
  "invalid_request",
  "method_not_allowed",
  "request_timeout",
  "headers_too_large",
] as const;

/**
 * Returns true for an error response of a request without a route, which has only a code and an id, while a
 * route's own error response with such a code has a message. Partner errors have a code and a message in both
 * cases, and the server's own errors close the connection.
 */
function isBareErrorResponse({ method, path, status, headers, text }: SeenResponse): boolean {
  const body = parse(text);
  const keys = typeof body === "object" && body !== null ? Object.keys(body).sort().join() : "";
  const isBare =
    keys === "error,requestId" ||
    (keys === "error,message" && path.startsWith("/api/partners") && headers.get("connection") === "close");
  return (
    (isBare &&
      typeof body === "object" &&
      body !== null &&
      "error" in body &&
      serverCodes.some((code) => code === body.error && errors[code].status === status)) ||
    `${method}${path}` === ""
  );
}

function bareErrorResponseProblems({ status, headers, text }: SeenResponse): string[] {
  const body = parse(text) as { error?: string; requestId?: string } | undefined;
  const code = serverCodes.find((name) => name === body?.error);
  const expected = {
    "content-type": "application/json; charset=utf-8",
    "content-length": String(text.length),
    connection: "close",
    ...(body?.requestId !== undefined && { "x-request-id": body.requestId }),
    "cache-control": "no-store",
    "x-content-type-options": "nosniff",
    "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
  };
  return [
    ...(code !== undefined && errors[code].status === status
      ? []
      : [`${status} ${text} is no error response of the server's own`]),
    ...Object.entries(expected)
      .filter(([name, value]) => headers.get(name) !== value)
      .map(([name, value]) => `${name} is ${headers.get(name)}, not ${value}`),
  ];
}

/**
 * Returns true for pages of the web app, which are not part of the interface; its files are tested elsewhere.
 */
function isPage({ headers }: SeenResponse, path: string): boolean {
  return (
    path !== "/api" &&
    !path.startsWith("/api/") &&
    headers.get("content-type")?.startsWith("application/json") !== true
  );
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/**
 * Resolves references to responses and headers. Schemas keep their references, which the validator follows.
 */
function resolveAll(value: unknown, document: OpenApiDocument): unknown {
  if (Array.isArray(value)) return value.map((item) => resolveAll(item, document));
  if (typeof value !== "object" || value === null) return value;
  if ("$ref" in value && typeof value.$ref === "string") {
    if (value.$ref.startsWith("#/components/schemas/")) return { $ref: `document${value.$ref}` };
    const found = value.$ref
      .slice(2)
      .split("/")
      .reduce<unknown>((node, name) => (node as Record<string, unknown>)[name], document);
    return resolveAll(found, document);
  }
  return Object.fromEntries(
    Object.entries(value).map(([name, child]) => [name, resolveAll(child, document)]),
  );
}

let shared: DocumentCheck | undefined;

/**
 * Checks a response.
 *
 * @throws If it does not match the document.
 */
export function checkAgainstDocument(seen: SeenResponse): void {
  shared ??= new DocumentCheck(wholeInterface().document);
  shared.check(seen);
}
