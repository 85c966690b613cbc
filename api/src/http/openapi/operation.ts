import type { ZodOpenApiOperationObject, ZodOpenApiResponseObject } from "zod-openapi";
import { z } from "zod";
import { errors, type ErrorCode } from "#contracts/http/errors.ts";
import { toAnswer, type Answer } from "../responses.ts";
import { formType, jsonType } from "../body.ts";
import type { Access, Route } from "../route.ts";
import { answerHeaders, headerReferences, refusalHeaders, type HeaderSet } from "./headers.ts";
import { errorCodesByStatus, refusalBody, refusalKindOf, refusalName } from "./errorResponses.ts";
import { requestHeaders, type RequestHeaderName } from "./requestHeaders.ts";
import { tagOf } from "./tags.ts";

/** What operations share: each refusal is described once. */
export interface Shared {
  /** Of all responses so far. */
  headers: HeaderSet[];
  refusals: Map<string, ZodOpenApiResponseObject>;
  bodies: Map<string, z.ZodType>;
  /** The limits' own words, such as "120 in 60 s per player". */
  describeLimits: (route: Route) => string | undefined;
}

const securityOf: Record<Access, Record<string, string[]>[]> = { public: [], user: [{ session: [] }], partner: [{ partnerKey: [] }] };

/** The document's part for one route. */
export function describeOperation(route: Route, shared: Shared): ZodOpenApiOperationObject {
  const description = [route.description, shared.describeLimits(route)].filter((part) => part !== undefined).join("\n\n");
  const body = requestBody(route);
  return {
    operationId: route.name,
    summary: route.summary,
    ...(description !== "" && { description }),
    tags: [tagOf(route.path)],
    security: securityOf[route.access],
    requestParams: requestParams(route),
    ...(body !== undefined && { requestBody: body }),
    responses: { ...answersOf(route, shared), ...refusalsOf(route, shared) },
  };
}

function requestParams({ schemas: { params, query }, headers: ownHeaders = [], answers }: Route): NonNullable<ZodOpenApiOperationObject["requestParams"]> {
  const headers = [...new Set<RequestHeaderName>([...304 in answers ? ["If-None-Match" as const] : [], ...ownHeaders])];
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

function requestBody({ schemas: { body, isForm }, rawBody }: Route): ZodOpenApiOperationObject["requestBody"] {
  if (rawBody !== undefined) {
    const content = Object.fromEntries(rawBody.types.map((type) => [type, {}]));
    return { description: `${rawBody.description} At most ${rawBody.maxBytes} bytes.`, content, required: rawBody.isOptional !== true };
  }
  if (body === undefined) return undefined;
  const types = isForm === true ? [formType, jsonType] : [jsonType];
  return { content: Object.fromEntries(types.map((type) => [type, { schema: body }])), required: true };
}

function answersOf(route: Route, shared: Shared): Record<`2${string}`, ZodOpenApiResponseObject> {
  return Object.fromEntries(Object.entries(route.answers).map(([status, short]) => {
    const answer = toAnswer(short);
    const headers = answerHeaders(route, answer);
    shared.headers.push(headers);
    return [status, { description: answer.description, headers: headerReferences(headers), ...contentOf(answer) }];
  }));
}

function contentOf({ content }: Answer): Pick<ZodOpenApiResponseObject, "content"> {
  const types = Object.entries(content).map(([type, shape]) => [type, { schema: typeof shape === "string" ? { type: "string" as const } : shape }] as const);
  return types.length === 0 ? {} : { content: Object.fromEntries(types) };
}

function refusalsOf(route: Route, shared: Shared): Record<`4${string}`, ZodOpenApiResponseObject> {
  return Object.fromEntries([...errorCodesByStatus(route)].map(([status, codes]) => [String(status), refusal(route, status, codes, shared)]));
}

function refusal(route: Route, status: number, codes: readonly ErrorCode[], shared: Shared): ZodOpenApiResponseObject {
  const kind = refusalKindOf(route);
  const name = refusalName(kind, codes);
  const id = route.access === "public" && route.limits.length === 0 ? `${name}Uncounted` : name;
  const headers = refusalHeaders(route, status);
  const schema = shared.bodies.get(name) ?? refusalBody(kind, codes);
  const response = shared.refusals.get(id) ?? {
    id,
    description: codes.map((code) => `\`${code}\`: ${errors[code].meaning}`).join("\n\n"),
    headers: headerReferences(headers),
    content: { [jsonType]: { schema } },
  };
  shared.headers.push(headers);
  shared.bodies.set(name, schema);
  shared.refusals.set(id, response);
  return response;
}
