import type { ZodOpenApiComponentsObject } from "zod-openapi";
import { z } from "zod";
import type { RouteResponse } from "../responses.ts";
import type { Route } from "../route.ts";
import { responseHeaders, type HeaderName } from "../headers.ts";

type HeaderComponents = NonNullable<ZodOpenApiComponentsObject["headers"]>;

/** Headers of one response: required and optional ones. */
export interface HeaderSet {
  required: ReadonlySet<HeaderName>;
  optional: ReadonlySet<HeaderName>;
}

const commonHeaders: readonly HeaderName[] = ["API-Version", "X-Request-Id", "Cache-Control"];
const limitHeaders: readonly HeaderName[] = ["RateLimit-Policy", "RateLimit"];

/** Returns the headers of a success response. */
export function successHeaders(route: Route, { headers, optionalHeaders }: RouteResponse): HeaderSet {
  // The cookie is not renewed when its sign-in ended during the request.
  const cookie: HeaderName[] = route.access === "user" || route.access === "viewer" ? ["Set-Cookie"] : [];
  return headerSet(
    [...commonHeaders, ...headers, ...limitsOf(route), ...everyHeadersOf(route)],
    [...optionalHeaders, ...cookie],
  );
}

/** Returns the headers of an error response. Errors before authentication or counting have fewer. */
export function errorHeaders(route: Route, status: number): HeaderSet {
  const isBeforeCounting = route.access !== "public" && (status === 401 || status === 403);
  // The router answers unknown methods before any route counts.
  const mayBeCounted = status >= 500 || status === 405;
  const counted = limitsOf(route);
  const required = [
    ...commonHeaders,
    ...statusHeaders(route, status),
    ...(isBeforeCounting || mayBeCounted ? [] : counted),
    ...(status === 405 ? [] : everyHeadersOf(route)),
  ];
  const cookie: HeaderName[] = route.access === "partner" ? [] : ["Set-Cookie"];
  const challenge: HeaderName[] = route.access === "viewer" && status === 401 ? ["WWW-Authenticate"] : [];
  return headerSet(required, [
    ...(mayBeCounted ? counted : []),
    ...cookie,
    ...challenge,
    ...(optionalStatusHeaders[status] ?? []),
  ]);
}

function everyHeadersOf({ everyHeaders = {} }: Route): HeaderName[] {
  return (Object.keys(responseHeaders) as HeaderName[]).filter((name) => name in everyHeaders);
}

function limitsOf({ limits }: Route): readonly HeaderName[] {
  return limits.length > 0 ? limitHeaders : [];
}

function statusHeaders({ access }: Route, status: number): readonly HeaderName[] {
  if (status === 401 && access === "partner") return ["WWW-Authenticate"];
  return requiredStatusHeaders[status] ?? [];
}

const requiredStatusHeaders: Readonly<Record<number, readonly HeaderName[]>> = {
  405: ["Allow"],
  415: ["Accept"],
  429: ["Retry-After"],
  503: ["Retry-After"],
};
const optionalStatusHeaders: Readonly<Record<number, readonly HeaderName[]>> = {
  409: ["Retry-After"],
  413: ["Upload-Limit"],
  415: ["Accept-Encoding"],
};

function headerSet(required: readonly HeaderName[], optional: readonly HeaderName[]): HeaderSet {
  return {
    required: new Set(required),
    optional: new Set(optional.filter((name) => !required.includes(name))),
  };
}

/** Returns references to the headers for a response. */
export function headerReferences({ required, optional }: HeaderSet): Record<string, { $ref: string }> {
  const references = new Map<string, { $ref: string }>();
  for (const name of required) references.set(name, { $ref: `#/components/headers/${name}` });
  for (const name of optional) references.set(name, { $ref: `#/components/headers/${name}-Optional` });
  return Object.fromEntries(references);
}

/** Returns the components of all referenced headers. */
export function headerComponents(used: readonly HeaderSet[]): HeaderComponents {
  const components: [string, HeaderComponents[string]][] = [];
  for (const name of new Set(used.flatMap(({ required }) => [...required])))
    components.push([name, headerComponent(name, true)]);
  for (const name of new Set(used.flatMap(({ optional }) => [...optional])))
    components.push([`${name}-Optional`, headerComponent(name, false)]);
  return Object.fromEntries(components.toSorted(([left], [right]) => (left < right ? -1 : 1)));
}

function headerComponent(name: HeaderName, isRequired: boolean): HeaderComponents[string] {
  const { description = "", examples = [] } = responseHeaders[name].meta() ?? {};
  const { format, pattern, const: value } = z.toJSONSchema(responseHeaders[name]);
  const facets = {
    ...(format !== undefined && { format }),
    ...(pattern !== undefined && { pattern }),
    ...(value !== undefined && { enum: [value] }),
  };
  return {
    description,
    ...(isRequired && { required: true }),
    schema: { type: "string", ...facets, examples },
  };
}
