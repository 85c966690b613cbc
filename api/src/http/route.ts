import type { ErrorCode } from "#contracts/http/errors.ts";
import { isOwnPage, requireOwnPage } from "./requireTrustedOrigin.ts";
import { requirePartner } from "../partners/requirePartner.ts";
import { requireUser } from "../auth/requireUser.ts";
import type { Config } from "../config.ts";
import type { Deps } from "../deps.ts";
import type { RequestHeaderName } from "./openapi/requestHeaders.ts";
import type { RateLimitName } from "./rateLimits.ts";
import type { Answers } from "./responses.ts";
import type { AppContext, PartnerPrincipal, UserPrincipal } from "./appContext.ts";
import { applyRateLimits } from "./applyRateLimits.ts";
import { idempotencyOf, onceForKey } from "./idempotency.ts";
import { readInput, type Input, type InputSchemas } from "./input.ts";

export type Method = "GET" | "POST" | "PUT" | "PATCH" | "DELETE";

/** Which credential a route takes. */
export type Access = "public" | "user" | "partner";

/** What a route says of itself: the router, the checks, the limits and the OpenAPI document are all made of this. */
interface Description {
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
  /** Every way in which the route answers when it does not refuse, by status. */
  answers: Answers;
  /** The refusals beyond those that every route of its kind has. */
  errors: readonly ErrorCode[];
  /** A body that the handler reads itself. */
  rawBody?: RawBody;
  /** Headers by which OPTIONS tells what the route takes. */
  announce?: (config: Config) => Record<string, string>;
  /** Takes an `Idempotency-Key`: the same request with the same key is done once. */
  isIdempotent?: true;
}

/** A body that is not checked by a schema. */
export interface RawBody {
  types: readonly string[];
  description: string;
  maxBytes: number;
  isOptional?: boolean;
}

/** One line of the route table. */
export interface Route extends Description {
  access: Access;
  schemas: InputSchemas<unknown, unknown, unknown>;
  handle: (ctx: AppContext) => Promise<void>;
}

interface Definition<Params, Query, Body, Request> extends InputSchemas<Params, Query, Body>, Description {
  /** Refuses input that is not valid, in place of the answer that all routes have for it. */
  refuseInput?: (ctx: AppContext, error: unknown) => Promise<never>;
  handle: (request: Request) => Promise<void> | void;
}

/** What a handler gets: the checked input, and the context only for status, headers and body. */
export interface PublicRequest<Params, Query, Body> extends Input<Params, Query, Body> {
  ctx: AppContext;
  deps: Deps;
}
export interface UserRequest<Params, Query, Body> extends PublicRequest<Params, Query, Body> {
  user: UserPrincipal;
}
export interface PartnerRequest<Params, Query, Body> extends PublicRequest<Params, Query, Body> {
  partner: PartnerPrincipal;
}

/** A route that anybody may call. */
export function publicRoute<Params, Query, Body>(
  definition: Definition<Params, Query, Body, PublicRequest<Params, Query, Body>>,
): Route {
  return toRoute("public", definition, async (ctx) => {
    await applyRateLimits(ctx, definition.limits, ctx.deps.rateLimits.addressKey(ctx.ip));
    const { refuseInput } = definition;
    const reading = checkedInput(ctx, definition);
    const input = await (refuseInput === undefined ? reading : reading.catch((error: unknown) => refuseInput(ctx, error)));
    return definition.handle({ ctx, deps: ctx.deps, ...input });
  });
}

/** A route for signed-in players. Order of refusals: 401, 403, 429, 400 and the like, then the handler's own. */
export function userRoute<Params, Query, Body>(
  definition: Definition<Params, Query, Body, UserRequest<Params, Query, Body>>,
): Route {
  return toRoute("user", definition, async (ctx) => {
    // Another site's page must not use up the player's limits.
    const user = await requireUser(ctx, isOwnPage(ctx) ? definition.limits : []);
    requireOwnPage(ctx);
    const input = await checkedInput(ctx, definition, { refusesStrayQuery: true });
    return once(ctx, definition, `user:${user.id}`, input, () => definition.handle({ ctx, deps: ctx.deps, user, ...input }));
  });
}

/** A route for partners, by API key. */
export function partnerRoute<Params, Query, Body>(
  definition: Definition<Params, Query, Body, PartnerRequest<Params, Query, Body>>,
): Route {
  return toRoute("partner", definition, async (ctx) => {
    const partner = await requirePartner(ctx);
    await applyRateLimits(ctx, definition.limits, partner.keyId);
    const input = await checkedInput(ctx, definition, { refusesStrayQuery: true });
    return once(ctx, definition, `partner:${partner.id}`, input, () => definition.handle({ ctx, deps: ctx.deps, partner, ...input }));
  });
}

/** A request that may be repeated with a key is told apart by all that it asks for. */
function once(
  ctx: AppContext, { isIdempotent }: Pick<Description, "isIdempotent">, principal: string, input: Input<unknown, unknown, unknown>, work: () => Promise<void> | void,
): Promise<void> | void {
  return isIdempotent ? onceForKey(ctx, principal, input, work) : work();
}

function toRoute<Params, Query, Body, Request>(
  access: Access, definition: Definition<Params, Query, Body, Request>, handle: (ctx: AppContext) => Promise<void>,
): Route {
  const { params, query, body, isForm, bodyBytes, ...description } = definition;
  const schemas = {
    ...(params && { params }), ...(query && { query }), ...(body && { body }), ...(isForm && { isForm }), ...(bodyBytes !== undefined && { bodyBytes }),
  };
  return { ...description, ...(description.isIdempotent && idempotencyOf(description)), access, schemas, handle };
}

/** A part without a schema is undefined or empty here and `unknown` in the handler's types, so that nobody can use it. */
function checkedInput<Params, Query, Body>(
  ctx: AppContext, schemas: InputSchemas<Params, Query, Body>, options?: { refusesStrayQuery: boolean },
): Promise<Input<Params, Query, Body>> {
  return readInput(ctx, schemas, options) as Promise<Input<Params, Query, Body>>;
}
