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

/**
 * What a handler gets: the checked input, what it uses, and the context only for status, headers and body.
 */
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

/** Which credential a kind of routes takes. */
export type AccessName = "public" | "user" | "viewer" | "partner";

/** Who may call a kind of routes; `Caller` is what handlers are told of whom they serve. */
export interface Access<D, Caller extends object> {
  name: AccessName;
  /** A route that names no query parameters takes none; otherwise it ignores those that come. */
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
   * Limits of the route under which a request does not count when its error response has a `Retry-After`: who
   * asks again when told to must not run out of them.
   */
  limitsGivenBack?: readonly RateLimitName[];
  /**
   * What repeats a request under way, by its `Idempotency-Key`, counts under the one limit in place of the
   * other, which is one of the route.
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
