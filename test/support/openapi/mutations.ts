import fc from "fast-check";
import type { Route } from "#api/http/route.ts";
import type { SampleRequest } from "./sampleRequest.ts";

/** A change that makes a valid request invalid, and the expected error. */
export interface Mutation {
  what: string;
  statuses: readonly number[];
  change: (request: SampleRequest) => SampleRequest;
}

const privileged = [
  "id",
  "status",
  "partnerId",
  "userId",
  "role",
  "isAdmin",
  "createdAt",
  "constructor",
  "__proto__",
];
const impossibleNames = [
  "%2e%2e%2f",
  "%2e%2e%2f%2e%2e%2fetc%2fpasswd",
  "a%00b",
  "%00",
  "UPPER%20case",
  "-x-",
  "x".repeat(500),
  "%F0%9F%8E%AE",
  "'%20OR%201=1--",
  "%E0%A4%A",
];

/** Returns the possible mutations of a route's requests. */
export function mutationsOf(route: Route): fc.Arbitrary<Mutation> {
  const possible = [
    ...(route.path.includes(":slug") ? [impossibleName(/:slug/)] : []),
    ...(route.access === "public" ? [] : [unknownParameter, repeatedParameter]),
    ...(route.schemas.body !== undefined && route.schemas.isForm !== true && route.access !== "public"
      ? [injectedField, nulCharacter, wrongType, deepBody, brokenBody, wrongShape]
      : []),
  ].map((make) => (typeof make === "function" ? make(route) : make));
  return fc.oneof(...possible);
}

function impossibleName(place: RegExp): (route: Route) => fc.Arbitrary<Mutation> {
  return ({ path }) =>
    fc.constantFrom(...impossibleNames).map((name) => ({
      what: `the name ${name.slice(0, 40)}`,
      statuses: [400, 404],
      change: (request) => {
        const at = path.split("/").findIndex((segment) => place.test(segment));
        return {
          ...request,
          path: request.path
            .split("/")
            .map((segment, index) => (index === at ? segment.replace(/^[^?]*/, () => name) : segment))
            .join("/"),
        };
      },
    }));
}

const unknownParameter: fc.Arbitrary<Mutation> = fc
  .constantFrom("x", "__proto__", "partnerId", "page[]", "limit%00")
  .map((name) => ({
    what: `the parameter ${name}`,
    statuses: [400],
    change: (request) => withQuery(request, `${name}=1`),
  }));

const repeatedParameter: fc.Arbitrary<Mutation> = fc
  .constantFrom("page", "sessionId", "x", "search")
  .map((name) => ({
    what: `${name} twice`,
    statuses: [400],
    change: (request) => withQuery(request, `${name}=1&${name}=2`),
  }));

const injectedField: fc.Arbitrary<Mutation> = fc.constantFrom(...privileged).map((name) => ({
  what: `the field ${name}`,
  statuses: [400],
  // Created explicitly, because `__proto__` in an object literal does not create a field.
  change: (request) => ({
    ...request,
    headers: json,
    body: `{${[`${JSON.stringify(name)}:"x"`, ...fieldsOf(request).filter((field) => !field.startsWith(`"${name}"`))].join(",")}}`,
  }),
}));

const nulCharacter: fc.Arbitrary<Mutation> = fc.nat().map((at) => ({
  what: "a NUL",
  statuses: [400],
  change: (request) => changeField(request, at, "a\u0000b"),
}));

const wrongType: fc.Arbitrary<Mutation> = fc
  .tuple(fc.nat(), fc.constantFrom<unknown>(7, -1.5, {}, { $ne: null }, [[["x"]]], { toString: "x" }))
  .map(([at, value]) => ({
    what: `a field of ${JSON.stringify(value)}`,
    statuses: [400],
    change: (request) => changeField(request, at, value),
  }));

const deepBody: fc.Arbitrary<Mutation> = fc.integer({ min: 11, max: 5000 }).map((depth) => ({
  what: `${depth} levels`,
  statuses: [400],
  change: (request) => ({
    ...request,
    headers: json,
    body: `{"title":${"[".repeat(depth)}${"]".repeat(depth)}}`,
  }),
}));

const brokenBody: fc.Arbitrary<Mutation> = fc
  .constantFrom("{", "", '{"a":}', "\u0000", "{} {}", "NaN", "{'a':1}", "\ufeff{}x")
  .map((body) => ({
    what: `the body ${JSON.stringify(body)}`,
    statuses: [400],
    change: (request) => ({ ...request, headers: json, body }),
  }));

const wrongShape: fc.Arbitrary<Mutation> = fc
  .constantFrom("[]", "null", "1", '"x"', "true", "[{}]")
  .map((body) => ({
    what: `the body ${body}`,
    statuses: [400],
    change: (request) => ({ ...request, headers: json, body }),
  }));

const json = { "content-type": "application/json" };

function withQuery(request: SampleRequest, query: string): SampleRequest {
  return { ...request, path: `${request.path}${request.path.includes("?") ? "&" : "?"}${query}` };
}

function fieldsOf({ body }: SampleRequest): string[] {
  return Object.entries(body as object).map(
    ([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value)}`,
  );
}

/** Changes one field. A body without fields gets an unknown one. */
function changeField(request: SampleRequest, at: number, value: unknown): SampleRequest {
  const body = request.body as Record<string, unknown>;
  const names = Object.keys(body);
  const name = names[at % Math.max(1, names.length)] ?? "unknownField";
  return { ...request, body: { ...body, [name]: value } };
}
