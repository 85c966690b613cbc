import { createHash, randomUUID } from "node:crypto";
import { limits } from "#contracts/limits.ts";
import type { ErrorCode } from "#contracts/http/errors.ts";
import type { Timer } from "#runtime/scheduling/clock.ts";
import { DomainError, invalidRequest } from "../errors.ts";
import { HttpError, toHttpError, type HttpErrorOptions } from "./httpError.ts";
import type { RequestHeaderName } from "./headers.ts";
import {
  deleteIdempotencyKey,
  insertIdempotencyKey,
  updateIdempotencyLease,
  updateIdempotencyResponse,
  type IdempotentAttempt,
} from "./idempotencyQueries.ts";
import type { Queryable } from "../stores/queryable.ts";
import { toResponse, type Responses } from "./responses.ts";
import type { AppContext, HttpDeps } from "./appContext.ts";

/**
 * A stored response, with its exact body. An error response is created again, because it has the new request
 * id.
 */
type StoredResponse =
  | { status: number; text: string; location?: string }
  | { errorCode: ErrorCode; options: HttpErrorOptions };

/** Request headers and responses of a route. */
interface Description {
  headers?: readonly RequestHeaderName[];
  responses: Responses;
  errors: readonly ErrorCode[];
}

/** Adds the key to the description of an idempotent route. */
export function idempotencyOf({ headers = [], responses, errors }: Description): Description {
  const replayable = Object.entries(responses).map(([status, response]) => {
    const long = toResponse(response);
    return [status, { ...long, optionalHeaders: [...long.optionalHeaders, "Idempotency-Replayed" as const] }];
  });
  return {
    headers: [...headers, "Idempotency-Key"],
    responses: Object.fromEntries(replayable) as Responses,
    errors: [...new Set<ErrorCode>([...errors, "conflict", "idempotency_key_reused"])],
  };
}

/** The same request is in progress. */
export class StillRunningError extends DomainError {
  constructor() {
    super("conflict", {
      message: "This request is still in progress. Try again in a moment.",
      retryAfterSeconds: runningRetrySeconds,
    });
  }
}

/** Keyed requests in flight. */
const turns = new WeakMap<AppContext, { attempt: IdempotentAttempt; isRemembered: boolean }>();

const runningRetrySeconds = 1;
const renewalMs = (limits.idempotency.leaseSeconds * 1000) / 3;

/**
 * Runs `work` once per `Idempotency-Key` of the principal. A retry within a day gets the stored response.
 * Without the header, the work runs unconditionally. Server errors and errors with `Retry-After` are not
 * stored, so a retry runs the work again.
 */
export async function onceForKey(
  ctx: AppContext<HttpDeps>,
  input: unknown,
  work: () => Promise<void> | void,
): Promise<void> {
  const header = ctx.req.headers["idempotency-key"];
  if (header === undefined) return work();
  const { principal } = ctx.state;
  if (principal === undefined)
    throw new Error("A route with an Idempotency-Key must authenticate its caller.");
  const key = parseIdempotencyKey(String(header));
  const request = {
    principal: `${principal.kind}:${principal.id}`,
    route: `${ctx.method} ${ctx.state.route ?? ctx.path}`,
    key,
  };
  const attempt = { ...request, attempt: randomUUID() };
  const { pool } = ctx.deps.postgres;
  const claim = await insertIdempotencyKey(
    pool,
    { ...request, fingerprint: fingerprintOf(input) },
    attempt.attempt,
  );
  switch (claim.kind) {
    case "running":
      throw new StillRunningError();
    case "reused":
      throw new HttpError("idempotency_key_reused", {
        message: "This Idempotency-Key was used for a different request. Use a new one.",
      });
    case "done":
      replay(ctx, claim.response as StoredResponse);
      return;
    case "claimed":
      return doOnce(ctx, attempt, work);
  }
}

/** Keeps a response as part of a transaction. */
type Remember = (body: unknown, transaction: Queryable, location?: string) => Promise<void>;

/**
 * Returns a function that stores the handler's response in the transaction that does its work, so the
 * response is known even if the process dies right after the commit. Undefined for a request without a key.
 */
export function createRemember(ctx: AppContext, status: number): Remember | undefined {
  const turn = turns.get(ctx);
  if (turn === undefined) return undefined;
  return async (body, transaction, location) => {
    const response: StoredResponse = {
      status,
      text: JSON.stringify(body),
      ...(location !== undefined && { location }),
    };
    const isOurs = await updateIdempotencyResponse(transaction, turn.attempt, response);
    // The lease expired and another request took the key. Only one may do the work.
    if (!isOurs) throw new StillRunningError();
    turn.isRemembered = true;
  };
}

async function doOnce(
  ctx: AppContext<HttpDeps>,
  attempt: IdempotentAttempt,
  work: () => Promise<void> | void,
): Promise<void> {
  const { pool } = ctx.deps.postgres;
  const turn = { attempt, isRemembered: false };
  turns.set(ctx, turn);
  try {
    await holdLease(ctx, attempt, work);
  } catch (error) {
    const known = error instanceof DomainError ? toHttpError(error) : undefined;
    await settle(ctx, () =>
      known !== undefined && isLasting(known)
        ? updateIdempotencyResponse(pool, attempt, storedError(known))
        : // Any other error leaves open whether the work was committed, and the response with it.
          deleteIdempotencyKey(pool, attempt, known !== undefined),
    );
    throw error;
  }
  if (turn.isRemembered) return;
  const location = ctx.response.get("Location");
  const response: StoredResponse = {
    status: ctx.status,
    text: JSON.stringify(ctx.body),
    ...(location !== "" && { location }),
  };
  await settle(ctx, () => updateIdempotencyResponse(pool, attempt, response));
}

/**
 * Renews the lease while the work runs, so that a retry does not start the work again during a slow request.
 */
async function holdLease(
  { deps: { clock, postgres, logger }, state }: AppContext<HttpDeps>,
  attempt: IdempotentAttempt,
  work: () => Promise<void> | void,
): Promise<void> {
  let isDone = false;
  const next = (): Timer => clock.setTimer(renewalMs, () => void renew());
  let timer = next();
  const renew = async (): Promise<void> => {
    const isHeld = await updateIdempotencyLease(postgres.pool, attempt).catch((error: unknown) => {
      logger.warn(
        { err: error, requestId: state.requestId },
        "The lease of an Idempotency-Key could not be renewed; the API will retry.",
      );
      return true;
    });
    if (isHeld && !isDone) timer = next();
  };
  try {
    await work();
  } finally {
    isDone = true;
    timer.cancel();
  }
}

/**
 * Returns whether the same request would be refused for as long as its key is stored. Server errors and
 * errors with `Retry-After` may succeed next time.
 */
function isLasting({ status, retryAfterSeconds }: HttpError): boolean {
  return status < 500 && retryAfterSeconds === undefined;
}

/**
 * Stores the outcome, best effort. The work is done and its response is sent even if that fails; the key is
 * then free after its lease.
 */
async function settle(ctx: AppContext<HttpDeps>, write: () => Promise<unknown>): Promise<void> {
  try {
    await write();
  } catch (error) {
    ctx.deps.logger.warn(
      { err: error, requestId: ctx.state.requestId },
      "A response could not be stored for its Idempotency-Key.",
    );
  }
}

function storedError({ code, message, hasMessage, details, headers, extra }: HttpError): StoredResponse {
  return {
    errorCode: code,
    options: { headers, extra, ...(hasMessage && { message }), ...(details !== undefined && { details }) },
  };
}

function replay(ctx: AppContext, response: StoredResponse): void {
  const replayed = { "Idempotency-Replayed": "true" };
  if ("errorCode" in response)
    throw new HttpError(response.errorCode, {
      ...response.options,
      headers: { ...response.options.headers, ...replayed },
    });
  ctx.set({ ...replayed, ...(response.location !== undefined && { Location: response.location }) });
  ctx.status = response.status;
  ctx.type = "json";
  ctx.body = response.text;
}

/** Returns a digest that does not depend on the order of fields. */
function fingerprintOf(input: unknown): string {
  return createHash("sha256").update(JSON.stringify(input, sortedFields)).digest("hex");
}

function sortedFields(_: string, value: unknown): unknown {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)));
}

const token = /^[A-Za-z0-9!#$%&'*+.^_`|~:/-]+$/;
const quoted = /^"((?:[ !#-[\]-~]|\\["\\])*)"$/;

/**
 * Returns the key in an `Idempotency-Key` header, a quoted string or a bare token.
 *
 * @throws 400 for anything else
 */
export function parseIdempotencyKey(header: string): string {
  const text = header.trim();
  const key = token.test(text) ? text : quoted.exec(text)?.[1]?.replace(/\\(.)/g, "$1");
  if (key === undefined || key === "" || key.length > limits.idempotency.keyMaxLength) {
    throw invalidRequest(
      `Idempotency-Key must be one quoted string or token of 1 to ${limits.idempotency.keyMaxLength} characters, such as a random UUID.`,
      [{ path: "Idempotency-Key", message: "is malformed" }],
    );
  }
  return key;
}
