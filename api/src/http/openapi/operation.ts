import type { ZodOpenApiOperationObject, ZodOpenApiResponseObject } from "zod-openapi";
import { z } from "zod";
import { errors, type ErrorCode, ErrorDetail, ServerLack } from "#contracts/http/errors.ts";
import { toResponse, type RouteResponse } from "../responses.ts";
import { formType, jsonType } from "../body.ts";
import type { AccessName, BodySizeConfig, Route } from "../route.ts";
import { errorHeaders, headerReferences, successHeaders, type HeaderSet } from "./headers.ts";
import { requestHeaders, type RequestHeaderName } from "../headers.ts";

/** State shared by operations: each error response is described once. */
export interface Shared {
  /** Headers of all responses so far. */
  headers: HeaderSet[];
  errorResponses: Map<string, ZodOpenApiResponseObject>;
  bodies: Map<string, z.ZodType>;
  /** Text of the limits, such as "120 in 60 s per player". */
  describeLimits: (route: Route) => string | undefined;
  /** Body sizes that the site configures. */
  sizes: BodySizeConfig;
}

const securityOf: Record<AccessName, Record<string, string[]>[]> = {
  public: [],
  user: [{ session: [] }],
  viewer: [{ session: [] }, { streamTicket: [] }],
  partner: [{ partnerKey: [] }],
};

/** Returns the operation of one route. */
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
  requiredHeaders = [],
  responses,
}: Route): NonNullable<ZodOpenApiOperationObject["requestParams"]> {
  const headers = [
    ...new Set<RequestHeaderName>([...(304 in responses ? ["If-None-Match" as const] : []), ...ownHeaders]),
  ];
  const header = z.object({
    ...Object.fromEntries(headers.map((name) => [name, requestHeaders[name].optional()])),
    ...Object.fromEntries(requiredHeaders.map((name) => [name, requestHeaders[name]])),
  });
  return {
    ...(params !== undefined && { path: objectOf(params) }),
    ...(query !== undefined && { query: objectOf(query) }),
    ...(headers.length + requiredHeaders.length > 0 && { header }),
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

/**
 * Returns the schema of a body that is not JSON: text, or bytes in the format that client generators
 * recognize.
 */
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
  // Each event has its own schema, which this version of OpenAPI cannot express.
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

/** Returns the name of a reusable response. Responses with different headers have different names. */
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

/** Format of an error response: partners always get a message, forms always an address. */
type ErrorKind = Exclude<AccessName, "viewer"> | "form";

/** Returns the format of the route's errors, which depends on its credential and on forms. */
function errorKindOf({ access, schemas }: Route): ErrorKind {
  if (schemas.isForm === true) return "form";
  return access === "viewer" ? "user" : access;
}

/** Returns every error code of the route, including those of all routes of its kind. */
function errorCodesOf(route: Route): ErrorCode[] {
  const codes = new Set<ErrorCode>([...route.errors, ...accessCodes(route), "internal_error"]);
  if (route.limits.length > 0 || (route.innerLimits ?? []).length > 0) codes.add("rate_limited");
  if (route.schemas.params !== undefined) codes.add("not_found");
  if (route.schemas.query !== undefined || route.access !== "public") codes.add("invalid_request");
  if (route.schemas.body !== undefined) bodyCodes.forEach((code) => codes.add(code));
  return (Object.keys(errors) as ErrorCode[]).filter((code) => codes.has(code));
}

/** Returns the route's error codes by status. */
function errorCodesByStatus(route: Route): Map<number, ErrorCode[]> {
  return Map.groupBy(errorCodesOf(route), (code) => errors[code].status);
}

const bodyCodes: readonly ErrorCode[] = [
  "invalid_request",
  "request_timeout",
  "payload_too_large",
  "unsupported_media_type",
];

function accessCodes({ access, method }: Route): ErrorCode[] {
  if (access === "public") return [];
  // Another site's page can send a player's cookie, but not a partner's key.
  return access === "partner" || method !== "GET"
    ? ["unauthorized", "forbidden", "unavailable"]
    : ["unauthorized", "unavailable"];
}

/**
 * Returns the body of an error response with one of these codes. A missing sign-in has only its code, as
 * specified.
 */
function errorBody(kind: ErrorKind, codes: readonly ErrorCode[]): z.ZodType {
  const message = z
    .string()
    .min(1)
    .meta({
      description: "Explains the error and what to do.",
      examples: [errors[codes[0] ?? "invalid_request"].meaning],
    });
  const isBare = kind !== "partner" && codes.every((code) => code === "unauthorized");
  return z
    .object({
      error: z.enum(codes),
      ...(!isBare && { message: kind === "partner" ? message : message.optional() }),
      ...(!isBare && hasRequestId(kind, codes) && { requestId: requestId.optional() }),
      ...(codes.some((code) => detailed.has(code)) && { details: z.array(ErrorDetail).optional() }),
      ...(codes.includes("session_active") && { sessionId: activeSessionId.optional() }),
      ...(codes.includes("unreadable_save") && { versionId: earlierVersionId.optional() }),
      ...(codes.includes("no_servers") && { lack: serverLack.optional() }),
      ...(kind === "form" && { url: formUrl }),
    })
    .meta({ id: `${errorName(kind, codes).replace(/Error$/, "")}Error` });
}

/** Returns the name of the reusable response, such as `PartnerNotFound`. */
function errorName(kind: ErrorKind, codes: readonly ErrorCode[]): string {
  return kindNames[kind] + codes.map(pascalCase).join("Or");
}

/** Partners read the id from `X-Request-Id`; internal errors contain it in every body. */
function hasRequestId(kind: ErrorKind, codes: readonly ErrorCode[]): boolean {
  return kind !== "partner" || codes.includes("internal_error");
}

/** Errors that name the invalid fields or the entry of an archive. */
const detailed: ReadonlySet<ErrorCode> = new Set([
  "upload_in_progress",
  "invalid_request",
  "invalid_archive",
]);

const kindNames: Record<ErrorKind, string> = { public: "Public", user: "", partner: "Partner", form: "Form" };

const requestId = z
  .string()
  .meta({ description: "The same as `X-Request-Id`.", examples: ["0123456789abcdefghjk"] });
const activeSessionId = z.string().meta({
  description: "With `session_active`: the player's active session.",
  examples: ["gs-7k2m9q4x1v8c"],
});
const earlierVersionId = z.string().meta({
  description: "With `unreadable_save`: the newest readable version before it.",
  examples: ["0f5b3c1e-8a51-4f0e-9a58-1a3a0b4d7c11"],
});
const serverLack = ServerLack.meta({
  description:
    "With `no_servers`: the resource that no game server has enough of. Absent when all servers are in use or unreachable.",
  examples: ["memory"],
});
const formUrl = z.url().meta({
  description: "Where the browser would have been sent.",
  examples: ["https://joypod.example/signin?error=CredentialsSignin&code=credentials"],
});

function pascalCase(code: string): string {
  return code
    .split("_")
    .map((word) => word.slice(0, 1).toUpperCase() + word.slice(1))
    .join("");
}

/** The document's chapters with the prefixes of their paths; the first match counts. */
export const tags = [
  {
    name: "Sign-in",
    prefix: "/api/auth/",
    description:
      "Signing in and out. Compatible with the unmodified React client of Auth.js (`next-auth` 4). Forms carry the token from `GET /api/auth/csrf`.",
  },
  {
    name: "Account",
    prefix: "/api/account/",
    description: "The player's sign-in methods, sign-ins and preferences.",
  },
  { name: "Catalogue", prefix: "/api/games", description: "Games that players can launch." },
  { name: "Favourites", prefix: "/api/favorites", description: "The player's favourite games." },
  {
    name: "Game sessions",
    prefix: "/api/game/",
    description:
      "Launch, follow, keep alive and stop the player's sessions. A player has one active session at a time.",
  },
  {
    name: "Stream",
    prefix: "/api/stream/",
    description: "WebRTC signalling (WHEP) for a session, starting or running.",
  },
  {
    name: "Partners",
    prefix: "/api/partners/",
    description:
      "A partner's games, their archives and the distribution to game servers, and webhooks about them.",
  },
  { name: "Service", prefix: "/", description: "For operators of the service." },
] as const;

/** Returns the chapter of a path. */
export function tagOf(path: string): string {
  return tags.find(({ prefix }) => path.startsWith(prefix))?.name ?? "Service";
}
