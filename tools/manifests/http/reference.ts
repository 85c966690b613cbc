import { randomBytes } from "node:crypto";
import { readConfig } from "#api/config.ts";
import { buildDocument, type OpenApiDocument } from "#api/http/openapi/document.ts";
import { errorCodesOf, tagOf, tags } from "#api/http/openapi/operation.ts";
import type { Route } from "#api/http/route.ts";
import { createRoutes } from "#api/routes.ts";
import { errors, type ErrorCode } from "#contracts/http/errors.ts";
import { routeSection, routeTable } from "./routeSection.ts";
import { meaningWords, typeWords, type SchemaNode } from "./schemaWords.ts";

/** The generated parts of docs/http.md, by the names of their markers. */
export function httpReference(): Record<"errors" | "routes" | "shapes", string> {
  const config = defaultConfig();
  const routes = createRoutes(config);
  const document = buildDocument(routes, config);
  return { errors: errorTables(routes), routes: chapters(routes, document), shapes: shapes(document) };
}

/** Every default; the stores are named and never asked. */
function defaultConfig(): ReturnType<typeof readConfig> {
  return readConfig({
    BASE_URL: "https://joypod.example",
    DATABASE_URL: "postgres://none",
    REDIS_URL: "redis://none",
    S3_ENDPOINT: "http://none",
    S3_ACCESS_KEY: "none",
    S3_SECRET_KEY: "none",
    SIGNING_KEYS: `docs:${randomBytes(32).toString("base64")}`,
    PASSWORD_PEPPER: randomBytes(16).toString("hex"),
  });
}

function chapters(routes: readonly Route[], document: OpenApiDocument): string {
  return tags
    .map(({ name, description }) => {
      const own = routes.filter(({ path }) => tagOf(path) === name);
      return [
        `## ${name}`,
        description,
        routeTable(own),
        ...own.map((route) => routeSection(route, document)),
      ].join("\n\n");
    })
    .join("\n\n");
}

function errorTables(routes: readonly Route[]): string {
  const codesOf = (isPartner: boolean): Set<ErrorCode> =>
    new Set([
      ...routes.filter(({ access }) => (access === "partner") === isPartner).flatMap(errorCodesOf),
      "method_not_allowed",
    ]);
  return [
    "### Partners' errors",
    errorTable(codesOf(true)),
    "### Everybody else's",
    errorTable(codesOf(false)),
  ].join("\n\n");
}

function errorTable(codes: ReadonlySet<ErrorCode>): string {
  const rows = (Object.keys(errors) as ErrorCode[])
    .filter((code) => codes.has(code))
    .map((code) => `| ${errors[code].status} | \`${code}\` | ${errors[code].meaning} |`);
  return ["| Status | `error` | Meaning |", "|---|---|---|", ...rows].join("\n");
}

/** Every named body except those of error responses, which all have one form. */
function shapes({ components }: OpenApiDocument): string {
  return Object.entries((components?.schemas ?? {}) as Record<string, SchemaNode>)
    .filter(([name]) => !name.endsWith("Error"))
    .toSorted(([left], [right]) => (left < right ? -1 : 1))
    .map(([name, node]) =>
      [`### ${name}`, node.description, fieldTable(node)]
        .filter((part) => part !== undefined && part !== "")
        .join("\n\n"),
    )
    .join("\n\n");
}

function fieldTable(node: SchemaNode): string {
  if (node.properties === undefined || Object.keys(node.properties).length === 0)
    return node.type === "object" ? "" : `One of ${typeWords(node)}.`;
  const rows = Object.entries(node.properties).map(([name, field]) => {
    const isOptional = node.required?.includes(name) !== true;
    return `| \`${name}\` | ${typeWords(field)}${isOptional ? ", optional" : ""} | ${meaningWords(field)} |`;
  });
  return ["| Field | Type | Meaning |", "|---|---|---|", ...rows].join("\n");
}
