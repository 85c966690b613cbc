import type { ErrorCode } from "#contracts/http/errors.ts";
import type { AppContext, HttpDeps } from "./appContext.ts";
import { idempotencyOf, onceForKey, StillRunningError } from "./idempotency.ts";
import { readInput, type Input, type InputSchemas } from "./input.ts";
import type { RequestHeaderName } from "./headers.ts";
import type { RateLimitName } from "./rateLimits.ts";
import type { Responses } from "./responses.ts";
import { applyRateLimits, countedUnder, giveBackRateLimit } from "./applyRateLimits.ts";
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
interface RawBody {
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

/** Arguments of a handler: validated input, dependencies, and the context for status, headers and body. */
interface RouteRequest<D, Params, Query, Body> extends Input<Params, Query, Body> {
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
      const caller = await access.admit(ctx, definition.limits);
      await countingRetries(ctx, description, async () => {
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

/** Which credential a kind of routes takes. */
export type AccessName = "public" | "user" | "viewer" | "partner";

/** Access rule of a kind of routes. `Caller` is the caller's data that handlers get. */
export interface Access<D, Caller extends object> {
  name: AccessName;
  /** Whether routes without query parameters refuse them; otherwise they are ignored. */
  refusesStrayQuery: boolean;
  /**
   * Checks the credential, notes whose it is in `ctx.state.principal`, and counts the request under the
   * limits. Throws unauthorized, forbidden, and RateLimitError when a limit is used up.
   */
  admit: (ctx: AppContext<D>, limits: readonly RateLimitName[]) => Promise<Caller>;
}

/** Anybody may call; requests are counted by address. */
const publicAccess: Access<HttpDeps, object> = {
  name: "public",
  refusesStrayQuery: false,
  admit: async (ctx, limits) => {
    await applyRateLimits(ctx, limits, ctx.deps.rateLimits.addressKey(ctx.ip));
    return {};
  },
};

/** How the requests of a route count that are sent again. */
interface RetryLimits {
  /**
   * Limits that are refunded when the error response has `Retry-After`, so clients that obey it are not
   * limited.
   */
  limitsGivenBack?: readonly RateLimitName[];
  /**
   * A retry of a request in progress, by its `Idempotency-Key`, counts against `countAs` instead of
   * `insteadOf`, which is a limit of the route.
   */
  repeats?: { countAs: RateLimitName; insteadOf: RateLimitName };
}

/** Does the work of a request that was counted, and takes back what turns out not to count. */
async function countingRetries(
  ctx: AppContext<HttpDeps>,
  { limitsGivenBack = [], repeats }: RetryLimits,
  work: () => Promise<void>,
): Promise<void> {
  try {
    await (repeats === undefined ? work() : countingRepeats(ctx, repeats, work));
  } catch (error) {
    if (toHttpError(error).retryAfterSeconds !== undefined) {
      for (const name of limitsGivenBack) await giveBackRateLimit(ctx, name);
    }
    throw error;
  }
}

/** A repetition that is over the limit for these is refused, and stays counted under the other one. */
async function countingRepeats(
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
      await giveBackRateLimit(ctx, insteadOf);
    }
    throw error;
  }
}
