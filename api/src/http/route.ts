import type { ErrorCode } from "#contracts/http/errors.ts";
import { publicAccess, type Access, type AccessName } from "./access.ts";
import type { AppContext, HttpDeps } from "./appContext.ts";
import { countingRetries, type RetryLimits } from "./countRetries.ts";
import { idempotencyOf, onceForKey } from "./idempotency.ts";
import { readInput, type Input, type InputSchemas } from "./input.ts";
import type { RequestHeaderName } from "./requestHeaders.ts";
import type { RateLimitName } from "./rateLimits.ts";
import type { Responses } from "./responses.ts";

export type Method = "GET" | "POST" | "PUT" | "PATCH" | "DELETE";

/**
 * What a route says of itself: the router, the checks, the limits and the OpenAPI document are all made of
 * this.
 */
interface Description<D> extends RetryLimits {
  method: Method;
  path: string;
  /** Names the operation in generated clients, such as `listGames`. */
  name: string;
  /** A short phrase, such as "List games". */
  summary: string;
  /** What the summary and the schemas do not say. */
  description?: string;
  /** Counted per user, per partner key or, on public routes, per address. */
  limits: readonly RateLimitName[];
  /** Limits that the handler itself counts under, once it knows enough. */
  innerLimits?: readonly RateLimitName[];
  /** Request headers that the handler reads. */
  headers?: readonly RequestHeaderName[];
  /** Every response of the route that is no error response, by status. */
  responses: Responses;
  /** The errors beyond those that every route of its kind has. */
  errors: readonly ErrorCode[];
  /** A body that the handler reads itself. */
  rawBody?: RawBody;
  /** Headers by which OPTIONS tells what the route takes. */
  announce?: (deps: D, ctx: AppContext<D>) => Record<string, string>;
  /** Takes an `Idempotency-Key`: the same request with the same key is done once. */
  isIdempotent?: true;
}

/** A body that is not checked by a schema. */
export interface RawBody {
  types: readonly string[];
  description: string;
  /** A function where the site's own settings decide. */
  maxBytes: number | ((config: BodySizeConfig) => number);
  isOptional?: boolean;
}

/** The sizes of bodies that a site may set for itself. */
export interface BodySizeConfig {
  partner: { uploadMaxBytes: number };
}

/** One line of the route table; `D` is what serving it needs. */
export interface Route<D = never> extends Description<D> {
  access: AccessName;
  schemas: InputSchemas<unknown, unknown, unknown>;
  handle: (ctx: AppContext<D>) => Promise<void>;
}

/** A route as its noun writes it. */
export interface Definition<D, Caller, Params, Query, Body>
  extends InputSchemas<Params, Query, Body>, Description<D> {
  /** Refuses input that is not valid, in place of the response that all routes have for it. */
  refuseInput?: (ctx: AppContext<D>, error: unknown) => Promise<never>;
  handle: (request: RouteRequest<D, Params, Query, Body> & Caller) => Promise<void> | void;
}

/**
 * What a handler gets: the checked input, what it uses, and the context only for status, headers and body.
 */
export interface RouteRequest<D, Params, Query, Body> extends Input<Params, Query, Body> {
  ctx: AppContext<D>;
  deps: D;
}

/** Returns a function that makes routes which anybody may call, and whose handlers use `D`. */
export function publicRouteFor<D>() {
  return <Params, Query, Body>(
    definition: Definition<D & HttpDeps, object, Params, Query, Body>,
  ): Route<D & HttpDeps> => toRoute(publicAccess, definition);
}

/**
 * A route for those whom `access` admits. Order of errors: those of the access, then of the input, then the
 * handler's own.
 */
export function toRoute<D extends HttpDeps, Caller extends object, Params, Query, Body>(
  access: Access<D, Caller>,
  definition: Definition<D, Caller, Params, Query, Body>,
): Route<D> {
  const { params, query, body, isForm, bodyBytes, refuseInput, handle, ...description } = definition;
  const schemas = {
    ...(params && { params }),
    ...(query && { query }),
    ...(body && { body }),
    ...(isForm && { isForm }),
    ...(bodyBytes !== undefined && { bodyBytes }),
  };
  return {
    ...description,
    ...(description.isIdempotent && idempotencyOf(description)),
    access: access.name,
    schemas,
    handle: async (ctx) => {
      const caller = await access.admit(ctx, definition.limits);
      await countingRetries(ctx, description, async () => {
        const reading = checkedInput(ctx, definition, access);
        const input = await (refuseInput === undefined
          ? reading
          : reading.catch((error: unknown) => refuseInput(ctx, error)));
        const work = (): Promise<void> | void => handle({ ...caller, ctx, deps: ctx.deps, ...input });
        // A request that may be repeated with a key is told apart by all that it asks for.
        await (description.isIdempotent ? onceForKey(ctx, input, work) : work());
      });
    },
  };
}

/**
 * A part without a schema is undefined or empty here and `unknown` in the handler's types, so that nobody can
 * use it.
 */
function checkedInput<Params, Query, Body>(
  ctx: AppContext<HttpDeps>,
  schemas: InputSchemas<Params, Query, Body>,
  options: { refusesStrayQuery: boolean },
): Promise<Input<Params, Query, Body>> {
  return readInput(ctx, schemas, options) as Promise<Input<Params, Query, Body>>;
}
