import type { z } from "zod";
import type { HeaderName } from "./headers.ts";

/** A success response of a route. */
export interface RouteResponse {
  description: string;
  /** Body by media type: a schema for JSON, a description for other types. Empty for no body. */
  content: Readonly<Record<string, z.ZodType | string>>;
  /** Headers that are always present, beyond those of every response of the route's kind. */
  headers: readonly HeaderName[];
  /** Headers that may be present. */
  optionalHeaders: readonly HeaderName[];
}

/** Responses by status. A schema alone is a JSON body with the schema's description. */
export type Responses = Readonly<Record<number, z.ZodType | RouteResponse>>;

interface ResponseOptions {
  headers?: readonly HeaderName[];
  optionalHeaders?: readonly HeaderName[];
}

/** Returns a response with a JSON body. Throws when neither it nor the schema has a description. */
export function json(schema: z.ZodType, description?: string, options: ResponseOptions = {}): RouteResponse {
  return responseOf(description ?? describe(schema), { "application/json": schema }, options);
}

/** Returns a response without a body. */
export function empty(description: string, options: ResponseOptions = {}): RouteResponse {
  return responseOf(description, {}, options);
}

/** Returns a response whose body is not JSON but of one of these media types. */
export function media(
  types: readonly string[],
  description: string,
  options: ResponseOptions = {},
): RouteResponse {
  return responseOf(description, Object.fromEntries(types.map((type) => [type, description])), options);
}

/** Returns a 302 response with `Location`. */
export function redirect(description: string, options: ResponseOptions = {}): RouteResponse {
  return media(["text/plain"], description, {
    ...options,
    headers: ["Location", ...(options.headers ?? [])],
  });
}

/** Returns a response of server-sent events. */
export function eventStream(description: string, options: ResponseOptions = {}): RouteResponse {
  return media(["text/event-stream"], description, options);
}

/** Returns two responses: 200 with an entity tag, and 304 for a client that already has the content. */
export function cacheable(schema: z.ZodType, description?: string): Responses {
  return {
    200: json(schema, description, { headers: ["ETag"] }),
    304: empty("Unchanged since the version in `If-None-Match`.", { headers: ["ETag"] }),
  };
}

/** Returns the long form of a response. */
export function toResponse(response: z.ZodType | RouteResponse): RouteResponse {
  return "content" in response ? response : json(response);
}

function responseOf(
  description: string,
  content: RouteResponse["content"],
  { headers = [], optionalHeaders = [] }: ResponseOptions,
): RouteResponse {
  return { description, content, headers, optionalHeaders };
}

function describe(schema: z.ZodType): string {
  const description = schema.meta()?.description;
  if (description === undefined)
    throw new Error("A response's schema needs a description, or the response does.");
  return description;
}
