import { z } from "zod";
import { createDocument, type CreateDocumentOptions, type ZodOpenApiObject } from "zod-openapi";
import { apiVersion } from "#contracts/http/service.ts";
import { webhookPayloads } from "#contracts/http/webhooks.ts";
import { type RateLimitConfig, policiesOf, type RateLimitName } from "../rateLimits.ts";
import type { BodySizeConfig, Method, Route } from "../route.ts";
import { headerComponents } from "./headers.ts";
import { describeOperation, type Shared, tags, tagOf } from "./operation.ts";

/** Site settings that the document describes. */
export interface DocumentConfig extends RateLimitConfig {
  baseUrl: string;
  partner: RateLimitConfig["partner"] & BodySizeConfig["partner"];
  auth: RateLimitConfig["auth"] & {
    tokenLifetimeSeconds: number;
    absoluteLifetimeSeconds: number | undefined;
  };
  /** Name of the cookie that signed-in players send. */
  sessionCookie: string;
}

export type OpenApiDocument = ReturnType<typeof createDocument>;

/** Returns the OpenAPI document of the routes with this configuration. */
export function buildDocument(routes: readonly Route[], config: DocumentConfig): OpenApiDocument {
  const shared: Shared = {
    headers: [],
    errorResponses: new Map(),
    bodies: new Map(),
    describeLimits: limitsDescriber(config),
    sizes: config,
  };
  const paths: Record<string, Partial<Record<Lowercase<Method>, ReturnType<typeof describeOperation>>>> = {};
  for (const route of routes) {
    const path = documentPath(route.path);
    paths[path] = { ...paths[path], [lowerCase(route.method)]: describeOperation(route, shared) };
  }
  const used = new Set(routes.map(({ path }) => tagOf(path)));
  return createDocument(
    {
      openapi: "3.1.1",
      info: {
        title: "Joypod",
        version: apiVersion,
        description: introduction,
        license: { name: "Apache 2.0", identifier: "Apache-2.0" },
      },
      servers: [{ url: config.baseUrl }],
      ...webhooksOf(routes),
      tags: tags.filter(({ name }) => used.has(name)).map(({ name, description }) => ({ name, description })),
      paths,
      components: {
        headers: headerComponents(shared.headers),
        securitySchemes: {
          session: {
            type: "apiKey",
            in: "cookie",
            name: config.sessionCookie,
            description: `Set by signing in, renewed by every response, and valid for ${lifetimeOf(config)}. HTTP-only.`,
          },
          streamTicket: {
            type: "http",
            scheme: "bearer",
            description:
              "A ticket for one session's stream, from `POST /api/game/stream-ticket`: `Authorization: Bearer <ticket>`. With a ticket, the cookie is ignored.",
          },
          partnerKey: {
            type: "http",
            scheme: "bearer",
            description: "A partner's API key: `Authorization: Bearer <key>`.",
          },
        },
      },
    },
    options,
  );
}

/** Returns the requests that the site sends to partners' webhooks, if the routes for webhooks are served. */
function webhooksOf(routes: readonly Route[]): Pick<ZodOpenApiObject, "webhooks"> {
  if (!routes.some(({ name }) => name === "createWebhook")) return {};
  return {
    webhooks: Object.fromEntries(
      [...webhookPayloads].map(([type, schema]) => [
        type,
        {
          post: {
            operationId: `receive ${type}`.replaceAll(/[ .](\w)/g, (_, letter: string) =>
              letter.toUpperCase(),
            ),
            summary: type,
            description: schema.meta()?.description ?? "",
            tags: ["Partners"],
            security: [],
            requestParams: {
              header: z.object({
                "webhook-id": z.string().meta({ description: "The same in every attempt." }),
                "webhook-timestamp": z.string().meta({ description: "Seconds since the epoch." }),
                "webhook-signature": z.string().meta({
                  description: "`v1,` and a base64 HMAC-SHA256 for each valid secret, separated by spaces.",
                }),
              }),
            },
            requestBody: { content: { "application/json": { schema } }, required: true },
            responses: { "2XX": { description: "The event was received." } },
          },
        },
      ]),
    ),
  };
}

/** Returns the path in OpenAPI's notation: `/api/games/{slug}`. */
export function documentPath(path: string): string {
  return path.replaceAll(/:(\w+)/g, "{$1}");
}

/** Describes the lifetime of an unused sign-in, and the maximum lifetime if one is configured. */
function lifetimeOf({ auth: { tokenLifetimeSeconds, absoluteLifetimeSeconds } }: DocumentConfig): string {
  const lifetime = durationOf(tokenLifetimeSeconds);
  return absoluteLifetimeSeconds === undefined
    ? lifetime
    : `${lifetime}, but no longer than ${durationOf(absoluteLifetimeSeconds)} after signing in`;
}

const units = [
  ["day", 86_400],
  ["hour", 3600],
  ["minute", 60],
  ["second", 1],
] as const;

/**
 * Returns a time in the largest unit that divides it, such as "30 days". `Intl` is not used because it would
 * take 8 MB of memory.
 */
function durationOf(seconds: number): string {
  const [unit, size] = units.find(([, inSeconds]) => seconds % inSeconds === 0) ?? ["second", 1];
  const count = seconds / size;
  return `${count} ${unit}${count === 1 ? "" : "s"}`;
}

/** Additional properties are allowed, because responses may grow and clients must ignore unknown fields. */
const options: CreateDocumentOptions = {
  override: ({
    zodSchema: {
      _zod: { def },
    },
    jsonSchema,
    io,
  }) => {
    makePatternsPortable(jsonSchema);
    if (io === "output" && def.type === "object" && def.catchall === undefined)
      delete jsonSchema.additionalProperties;
  },
};

const introduction = `Play games in the browser, and publish them.

**Versions.** Paths have no version. Responses only gain fields: ignore fields that you do not know. \`API-Version\` is the date of the newest change. \`Deprecation\` and \`Sunset\` headers announce removals.

**Methods.** Every \`GET\` also answers \`HEAD\`. \`OPTIONS\` lists the methods of an address. Any other method gets 405 \`method_not_allowed\` with \`Allow\`, an unknown address 404 \`not_found\`. Paths are exact: case and a trailing slash count.

**Malformed requests** are refused before they reach a route, and the connection is closed: 400 \`invalid_request\` for invalid HTTP, 408 \`request_timeout\` for headers that do not arrive in time, 431 \`headers_too_large\` for more than 16 KiB of headers. A credential that is far too long gets 401.

**Writes with a cookie** must come from the service's own pages: a JSON body, and an \`Origin\` or \`Sec-Fetch-Site\` of the same site. Partner routes do not support CORS.

**Joypod-Player** on players' routes names the player that the request is for, by id. The response is 401 if another player or nobody is signed in.

**Rate limits** are described by \`RateLimit-Policy\` and \`RateLimit\`. Responses with 429 and 503 have \`Retry-After\`.`;

function lowerCase(method: Method): Lowercase<Method> {
  return method.toLowerCase() as Lowercase<Method>;
}

const callers: Record<Route["access"], string> = {
  public: "address",
  user: "player",
  viewer: "player, and as many for who watches",
  partner: "API key",
};
/** Callers of limits that are not counted by the route's caller. */
const ownCallers: Partial<Record<RateLimitName, string>> = {
  upload: "partner",
  pictureUpload: "partner",
  webhookTest: "partner",
  signInFailures: "address, of failed sign-ins",
  authPosts: "address",
};

/**
 * Returns a function that describes a route's limits, such as "Limit: 120 requests a minute per player
 * (`catalog`)."
 */
function limitsDescriber(config: RateLimitConfig): (route: Route) => string | undefined {
  const policies = policiesOf(config);
  return ({ access, limits, innerLimits = [] }) => {
    const sentences = [...limits, ...innerLimits].map((name) => {
      const { points, windowSeconds } = policies[name];
      return `${points} ${windowOf(windowSeconds)} per ${ownCallers[name] ?? callers[access]} (\`${name}\`)`;
    });
    return sentences.length === 0 ? undefined : `Limit: ${sentences.join("; ")}.`;
  };
}

function windowOf(seconds: number): string {
  if (seconds === 60) return "a minute";
  return seconds === 3600 ? "an hour" : `in ${seconds / 60} minutes`;
}

/** A part of a JSON Schema that can contain patterns. */
interface Patterned {
  pattern?: string | undefined;
  allOf?: unknown;
}

/** Control characters (Unicode category Cc) in every dialect of regular expressions. */
const controls = "\\x00-\\x1f\\x7f-\\x9f";

/**
 * Rewrites a schema's patterns for regular expressions without Unicode support: categories are written out,
 * and the check for well-formed text is dropped, because hardly any client could send ill-formed text.
 */
function makePatternsPortable(schema: Patterned): void {
  if (Array.isArray(schema.allOf)) {
    const parts: unknown[] = schema.allOf;
    const patterns = parts.map((part) =>
      typeof part === "object" && part !== null && "pattern" in part && typeof part.pattern === "string"
        ? part.pattern
        : undefined,
    );
    if (patterns.some((pattern) => pattern?.includes("\\p{") === true)) {
      delete schema.allOf;
      const kept = patterns.flatMap((pattern) => (pattern === undefined ? [] : (portable(pattern) ?? [])));
      if (kept.length === 1 && kept[0] !== undefined) schema.pattern = kept[0];
      else if (kept.length > 1) schema.allOf = kept.map((pattern) => ({ pattern }));
    }
  }
  if (schema.pattern?.includes("\\p{") !== true) return;
  const pattern = portable(schema.pattern);
  if (pattern === undefined) delete schema.pattern;
  else schema.pattern = pattern;
}

function portable(pattern: string): string | undefined {
  if (pattern === "^[^\\p{Cs}]*$") return undefined;
  return pattern.replaceAll("\\p{Cc}", controls).replaceAll("\\u2028\\u2029", "\u2028\u2029");
}
