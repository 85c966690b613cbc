import { type OpenApiDocument, documentPath } from "#api/http/openapi/document.ts";
import { errorCodesOf } from "#api/http/openapi/operation.ts";
import { toResponse, type RouteResponse } from "#api/http/responses.ts";
import type { Route } from "#api/http/route.ts";
import { errors, type ErrorCode } from "#contracts/http/errors.ts";
import { meaningWords, typeWords, type SchemaNode } from "./schemaWords.ts";

interface Parameter {
  in: string;
  name: string;
  required?: boolean;
  schema: SchemaNode;
}
interface Media {
  schema?: SchemaNode;
}
interface Operation {
  description?: string;
  parameters?: Parameter[];
  requestBody?: { description?: string; content: Record<string, Media> };
  responses: Record<string, { content?: Record<string, Media> }>;
}

const credentials: Record<Route["access"], string> = {
  public: "no credential",
  user: "session cookie",
  viewer: "session cookie or stream ticket",
  partner: "API key",
};

/** One route: what it takes, answers and refuses. */
export function routeSection(route: Route, document: OpenApiDocument): string {
  const operation = operationOf(route, document);
  return [
    `### ${route.summary}`,
    `\`${route.method} ${documentPath(route.path)}\` · ${credentials[route.access]}`,
    operation.description,
    parameterTable(operation.parameters ?? []),
    bodySentence(operation),
    responseTable(route, operation),
    `Refuses with ${errorCodesOf(route).map(errorWords).join(", ")}.`,
  ]
    .filter((part) => part !== undefined && part !== "")
    .join("\n\n");
}

/** The chapter's routes at a glance. */
export function routeTable(routes: readonly Route[]): string {
  const rows = routes.map(({ method, path, summary, access, limits, innerLimits = [] }) => {
    const counted = [...limits, ...innerLimits].map((name) => `\`${name}\``).join(", ");
    return `| \`${method} ${documentPath(path)}\` | [${summary}](#${anchorOf(summary)}) | ${credentials[access]} | ${counted} |`;
  });
  return ["| Route | What | Credential | Limits |", "|---|---|---|---|", ...rows].join("\n");
}

function operationOf({ method, path, name }: Route, { paths = {} }: OpenApiDocument): Operation {
  const item = paths[documentPath(path)] as Record<string, Operation> | undefined;
  const operation = item?.[method.toLowerCase()];
  if (operation === undefined) throw new Error(`The document lacks ${name}.`);
  return operation;
}

function parameterTable(parameters: readonly Parameter[]): string {
  if (parameters.length === 0) return "";
  const rows = parameters.map(
    ({ in: place, name, required, schema }) =>
      `| \`${name}\` | ${place} | ${typeWords(schema)}${required === true ? "" : ", optional"} | ${meaningWords(schema)} |`,
  );
  return ["| Parameter | In | Type | Meaning |", "|---|---|---|---|", ...rows].join("\n");
}

function bodySentence({ requestBody }: Operation): string {
  if (requestBody === undefined) return "";
  const types = Object.keys(requestBody.content)
    .map((type) => `\`${type}\``)
    .join(" or ");
  const [first] = Object.values(requestBody.content);
  const shape = requestBody.description ?? `${typeWords(first?.schema ?? {})}.`;
  return `Takes ${types}: ${shape}`;
}

function responseTable({ responses }: Route, operation: Operation): string {
  const rows = Object.entries(responses).map(([status, short]) => {
    const response = toResponse(short);
    return `| ${status} | ${bodyWords(response, operation.responses[status]?.content)} | ${headerWords(response)} | ${response.description} |`;
  });
  return ["| Response | Body | Headers | Meaning |", "|---|---|---|---|", ...rows].join("\n");
}

function bodyWords({ content }: RouteResponse, described: Record<string, Media> = {}): string {
  const types = Object.keys(content);
  if (types.length === 0) return "–";
  return types
    .map((type) => (type === "application/json" ? typeWords(described[type]?.schema ?? {}) : `\`${type}\``))
    .join(" or ");
}

function headerWords({ headers, optionalHeaders }: RouteResponse): string {
  return [
    ...headers.map((name) => `\`${name}\``),
    ...optionalHeaders.map((name) => `\`${name}\` (not always)`),
  ].join(", ");
}

function errorWords(name: ErrorCode): string {
  return `${errors[name].status} \`${name}\``;
}

function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replaceAll(/[^a-z0-9 -]/g, "")
    .replaceAll(" ", "-");
}
