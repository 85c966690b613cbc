import type { ZodOpenApiOperationObject, ZodOpenApiResponseObject } from "zod-openapi";
import { z } from "zod";
import { errors, type ErrorCode } from "#contracts/http/errors.ts";
import { toResponse, type RouteResponse } from "../responses.ts";
import { formType, jsonType } from "../body.ts";
import type { AccessName } from "../access.ts";
import type { BodySizeConfig, Route } from "../route.ts";
import { errorHeaders, headerReferences, successHeaders, type HeaderSet } from "./headers.ts";
import { errorBody, errorCodesByStatus, errorKindOf, errorName } from "./errorResponses.ts";
import { requestHeaders, type RequestHeaderName } from "../requestHeaders.ts";
import { tagOf } from "./tags.ts";

/** What operations share: each error response is described once. */
export interface Shared {
  /** Of all responses so far. */
  headers: HeaderSet[];
  errorResponses: Map<string, ZodOpenApiResponseObject>;
  bodies: Map<string, z.ZodType>;
  /** The limits' own words, such as "120 in 60 s per player". */
  describeLimits: (route: Route) => string | undefined;
  /** What the site sets of the sizes of bodies. */
  sizes: BodySizeConfig;
}

const securityOf: Record<AccessName, Record<string, string[]>[]> = {
  public: [],
  user: [{ session: [] }],
  viewer: [{ session: [] }, { streamTicket: [] }],
  partner: [{ partnerKey: [] }],
};

/** The document's part for one route. */
export function describeOperation(route: Route, shared: Shared): ZodOpenApiOperationObject {
  const description = [route.description, shared.describeLimits(route)]
    .filter((part) => part !== undefined)
    .join("\n\n");
  const body = requestBody(route, shared.sizes);
  return {
    operationId: route.name,
    summary: route.summary,
    ...(description !== "" && { description }),
    tags: [tagOf(route.path)],
    security: securityOf[route.access],
    requestParams: requestParams(route),
    ...(body !== undefined && { requestBody: body }),
    responses: { ...successesOf(route, shared), ...errorsOf(route, shared) },
  };
}

function requestParams({
  schemas: { params, query },
  headers: ownHeaders = [],
  responses,
}: Route): NonNullable<ZodOpenApiOperationObject["requestParams"]> {
  const headers = [
    ...new Set<RequestHeaderName>([...(304 in responses ? ["If-None-Match" as const] : []), ...ownHeaders]),
  ];
  const header = z.object(Object.fromEntries(headers.map((name) => [name, requestHeaders[name].optional()])));
  return {
    ...(params !== undefined && { path: objectOf(params) }),
    ...(query !== undefined && { query: objectOf(query) }),
    ...(headers.length > 0 && { header }),
  };
}

function objectOf(schema: z.ZodType): z.ZodObject {
  if (schema instanceof z.ZodObject) return schema;
  throw new Error("The schema of path or query parameters must be an object.");
}

function requestBody(
  { schemas: { body, isForm }, rawBody }: Route,
  sizes: BodySizeConfig,
): ZodOpenApiOperationObject["requestBody"] {
  if (rawBody !== undefined) {
    const content = Object.fromEntries(rawBody.types.map((type) => [type, { schema: plainSchema(type) }]));
    const maxBytes = typeof rawBody.maxBytes === "number" ? rawBody.maxBytes : rawBody.maxBytes(sizes);
    return {
      description: `${rawBody.description} At most ${maxBytes} bytes.`,
      content,
      required: rawBody.isOptional !== true,
    };
  }
  if (body === undefined) return undefined;
  const types = isForm === true ? [formType, jsonType] : [jsonType];
  return { content: Object.fromEntries(types.map((type) => [type, { schema: body }])), required: true };
}

/** Of a body that is not JSON: text, or bytes in the form that generators of clients know for them. */
function plainSchema(type: string): { type: "string"; format?: "binary" } {
  return type.startsWith("text/") || type === "application/sdp"
    ? { type: "string" }
    : { type: "string", format: "binary" };
}

function successesOf(route: Route, shared: Shared): Record<`2${string}`, ZodOpenApiResponseObject> {
  return Object.fromEntries(
    Object.entries(route.responses).map(([status, short]) => {
      const response = toResponse(short);
      const headers = successHeaders(route, response);
      shared.headers.push(headers);
      return [
        status,
        { description: response.description, headers: headerReferences(headers), ...contentOf(response) },
      ];
    }),
  );
}

function contentOf({ content }: RouteResponse): Pick<ZodOpenApiResponseObject, "content"> {
  // Of events a schema would be each one's own, which this version of OpenAPI cannot say.
  const schemaOf = (type: string, shape: z.ZodType | string) =>
    typeof shape !== "string"
      ? { schema: shape }
      : type === "text/event-stream"
        ? {}
        : { schema: plainSchema(type) };
  const types = Object.entries(content).map(([type, shape]) => [type, schemaOf(type, shape)] as const);
  return types.length === 0 ? {} : { content: Object.fromEntries(types) };
}

function errorsOf(route: Route, shared: Shared): Record<`4${string}`, ZodOpenApiResponseObject> {
  return Object.fromEntries(
    [...errorCodesByStatus(route)].map(([status, codes]) => [
      String(status),
      errorResponse(route, status, codes, shared),
    ]),
  );
}

/** Returns the name of a response that routes share: those with other headers have another one. */
function responseId({ access, limits }: Route, status: number, name: string): string {
  if (access === "public" && limits.length === 0) return `${name}Uncounted`;
  return access === "viewer" && status === 401 ? `Viewer${name}` : name;
}

function errorResponse(
  route: Route,
  status: number,
  codes: readonly ErrorCode[],
  shared: Shared,
): ZodOpenApiResponseObject {
  const kind = errorKindOf(route);
  const name = errorName(kind, codes);
  const id = responseId(route, status, name);
  const headers = errorHeaders(route, status);
  const schema = shared.bodies.get(name) ?? errorBody(kind, codes);
  const response = shared.errorResponses.get(id) ?? {
    id,
    description: codes.map((code) => `\`${code}\`: ${errors[code].meaning}`).join("\n\n"),
    headers: headerReferences(headers),
    content: { [jsonType]: { schema } },
  };
  shared.headers.push(headers);
  shared.bodies.set(name, schema);
  shared.errorResponses.set(id, response);
  return response;
}
