import type { ErrorCode } from "#contracts/http/errors.ts";
import type { AppContext, HttpDeps } from "./appContext.ts";
import { idempotencyOf, onceForKey, StillRunningError } from "./idempotency.ts";
import { readInput, type Input, type InputSchemas } from "./input.ts";
import type { RequestHeaderName } from "./headers.ts";
import type { RateLimitName } from "./rateLimits.ts";
import type { Responses } from "./responses.ts";
import { applyRateLimits, countedUnder, refundRateLimit } from "./applyRateLimits.ts";
import { toHttpError } from "./httpError.ts";

export type Method = "GET" | "POST" | "PUT" | "PATCH" | "DELETE";

/** Description of a route, from which router, validation, rate limits and OpenAPI document are derived. */
interface Description<D> extends RetryLimits {
  method: Method;
  path: string;
  /** Names the operation in generated clients, such as `listGames`. */
  name: string;
  /** A short phrase, such as "List games". */
  summary: string;
  /** Details beyond the summary and the schemas. */
  description?: string;
  /** Counted per user, per partner key or, on public routes, per address. */
  limits: readonly RateLimitName[];
  /** Limits that the handler itself counts against. */
  innerLimits?: readonly RateLimitName[];
  /** Request headers that the handler reads. */
  headers?: readonly RequestHeaderName[];
  /** Request headers without which the request is invalid. */
  requiredHeaders?: readonly RequestHeaderName[];
  /** Headers of every response, errors included. */
  everyHeaders?: Readonly<Record<string, string>>;
  /** Every success response of the route, by status. */
  responses: Responses;
  /** Errors beyond those of every route of its kind. */
  errors: readonly ErrorCode[];
  /** A body that the handler reads itself. */
  rawBody?: RawBody;
  /** Headers of the response to OPTIONS that describe the route's input. */
  announce?: (deps: D, ctx: AppContext<D>) => Record<string, string>;
  /** Accepts an `Idempotency-Key`: repeated requests with the same key are done once. */
  isIdempotent?: true;
}

/** A body that is not checked by a schema. */
interface RawBody {
  types: readonly string[];
  description: string;
  /** A function if it depends on the site's configuration. */
  maxBytes: number | ((config: BodySizeConfig) => number);
  isOptional?: boolean;
}

/** Configurable body sizes. */
export interface BodySizeConfig {
  partner: { uploadMaxBytes: number };
}

/** One row of the route table; `D` are the dependencies of its handler. */
export interface Route<D = never> extends Description<D> {
  access: AccessName;
  schemas: InputSchemas<unknown, unknown, unknown>;
  handle: (ctx: AppContext<D>) => Promise<void>;
}

/** The definition of a route. */
export interface Definition<D, Caller, Params, Query, Body>
  extends InputSchemas<Params, Query, Body>, Description<D> {
  /** Responds to invalid input instead of the default error response. */
  refuseInput?: (ctx: AppContext<D>, error: unknown) => Promise<never>;
  handle: (request: RouteRequest<D, Params, Query, Body> & Caller) => Promise<void> | void;
}

/** Arguments of a handler: validated input, dependencies, and the context for status, headers and body. */
interface RouteRequest<D, Params, Query, Body> extends Input<Params, Query, Body> {
  ctx: AppContext<D>;
  deps: D;
}

/** Returns a function that creates public routes, whose handlers use `D`. */
export function publicRouteFor<D>() {
  return <Params, Query, Body>(
    definition: Definition<D & HttpDeps, object, Params, Query, Body>,
  ): Route<D & HttpDeps> => toRoute(publicAccess, definition);
}

/**
 * Returns a route with the given access. Errors of the access come first, then those of the input and of the
 * handler.
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
      if (description.everyHeaders !== undefined) ctx.set(description.everyHeaders);
      const caller = await access.admit(ctx, definition.limits);
      await runWithRetryLimits(ctx, description, async () => {
        const reading = checkedInput(ctx, definition, access);
        const input = await (refuseInput === undefined
          ? reading
          : reading.catch((error: unknown) => refuseInput(ctx, error)));
        const work = (): Promise<void> | void => handle({ ...caller, ctx, deps: ctx.deps, ...input });
        // The fingerprint of a keyed request covers its whole input.
        await (description.isIdempotent ? onceForKey(ctx, input, work) : work());
      });
    },
  };
}

/**
 * Parts without a schema are undefined or empty, and `unknown` in the handler's types, so handlers cannot use
 * them.
 */
function checkedInput<Params, Query, Body>(
  ctx: AppContext<HttpDeps>,
  schemas: InputSchemas<Params, Query, Body>,
  options: { refusesStrayQuery: boolean },
): Promise<Input<Params, Query, Body>> {
  return readInput(ctx, schemas, options) as Promise<Input<Params, Query, Body>>;
}

/** The credential of a kind of routes. */
export type AccessName = "public" | "user" | "viewer" | "partner";

/** Access rule of a kind of routes. `Caller` is the caller's data that handlers get. */
export interface Access<D, Caller extends object> {
  name: AccessName;
  /** Whether routes without query parameters refuse them; otherwise they are ignored. */
  refusesStrayQuery: boolean;
  /**
   * Checks the credential, sets `ctx.state.principal`, and counts the request under the limits.
   *
   * @throws unauthorized, forbidden, RateLimitError when a limit is used up
   */
  admit: (ctx: AppContext<D>, limits: readonly RateLimitName[]) => Promise<Caller>;
}

/** Public access. Requests are counted by address. */
const publicAccess: Access<HttpDeps, object> = {
  name: "public",
  refusesStrayQuery: false,
  admit: async (ctx, limits) => {
    await applyRateLimits(ctx, limits, ctx.deps.rateLimits.addressKey(ctx.ip));
    return {};
  },
};

/** Rate limits of retries. */
interface RetryLimits {
  /**
   * Limits that are refunded when the error response has `Retry-After`, so clients that obey it are not
   * limited.
   */
  refundedLimits?: readonly RateLimitName[];
  /**
   * A retry of a request in progress, by its `Idempotency-Key`, counts against `countAs` instead of
   * `insteadOf`, which is a limit of the route.
   */
  repeats?: { countAs: RateLimitName; insteadOf: RateLimitName };
}

/** Runs the work of a counted request and refunds the limits that must not count. */
async function runWithRetryLimits(
  ctx: AppContext<HttpDeps>,
  { refundedLimits = [], repeats }: RetryLimits,
  work: () => Promise<void>,
): Promise<void> {
  try {
    await (repeats === undefined ? work() : runWithRepeatLimit(ctx, repeats, work));
  } catch (error) {
    if (toHttpError(error).retryAfterSeconds !== undefined) {
      for (const name of refundedLimits) await refundRateLimit(ctx, name);
    }
    throw error;
  }
}

/**
 * Counts a retry of a request in progress under `countAs` instead of `insteadOf`. A retry over `countAs` is
 * refused and stays counted under `insteadOf`.
 */
async function runWithRepeatLimit(
  ctx: AppContext<HttpDeps>,
  { countAs, insteadOf }: NonNullable<RetryLimits["repeats"]>,
  work: () => Promise<void>,
): Promise<void> {
  try {
    await work();
  } catch (error) {
    const counted = countedUnder(ctx, insteadOf);
    if (error instanceof StillRunningError && counted !== undefined) {
      await applyRateLimits(ctx, [countAs], counted.key);
      await refundRateLimit(ctx, insteadOf);
    }
    throw error;
  }
}
