/** One HTTP request to the API: sends it, reads the JSON response and checks it against a contract. */
import type { z } from "zod";
import { playerHeader } from "#contracts/http/auth.ts";
import { ErrorBody } from "#contracts/http/errors.ts";
import { anySignal, randomId } from "./browser.ts";
import { ApiError, isApiError } from "./apiError.ts";

const requestTimeoutMs = 15_000;
const maxRetries = 2;
const repeatPause = { minMs: 1_000, maxMs: 10_000 };
/**
 * For how long at least the API may work on a request whose response was lost: longer than a launch waits for
 * its turn.
 */
const workMinMs = 60_000;

/** Without a method, a request with a body (`json` or `form`) is a POST, any other a GET. */
export interface RequestOptions {
  method?: "POST" | "PUT" | "PATCH" | "DELETE";
  json?: unknown;
  form?: Record<string, string>;
  idempotencyKey?: string;
  /** Id of the player whom the request is for; `unauthorized` when that is not who is signed in by then. */
  player?: string | undefined;
  timeoutMs?: number;
  signal?: AbortSignal | undefined;
}

/**
 * Returns the body of the response. Throws ApiError for an error response, for none at all or half of one,
 * and for a body that does not match the schema.
 */
export async function request<Schema extends z.ZodType>(
  schema: Schema,
  path: string,
  options: RequestOptions = {},
): Promise<z.infer<Schema>> {
  return (await requestDated(schema, path, options)).body;
}

/**
 * The same with when it was sent, in milliseconds since 1970: by the server's clock to the second, by this
 * machine's where a proxy leaves that out.
 */
export async function requestDated<Schema extends z.ZodType>(
  schema: Schema,
  path: string,
  options: RequestOptions = {},
): Promise<{ body: z.infer<Schema>; sentAt: number }> {
  const response = await send(path, options);
  const body = await readJson(response);
  if (!response.ok) throw responseError(response.status, response.headers.get("retry-after"), body);
  const parsed = schema.safeParse(body);
  if (!parsed.success)
    throw new ApiError("unexpected", `The response of ${path} does not match its contract.`, {
      cause: parsed.error,
    });
  const sentAt = Date.parse(response.headers.get("date") ?? "");
  return { body: parsed.data, sentAt: Number.isNaN(sentAt) ? Date.now() : sentAt };
}

/**
 * Posts what must not happen twice. A request without a whole response is sent again under the same
 * idempotency key. Throws ApiError.
 */
export async function requestOnce<Schema extends z.ZodType>(
  schema: Schema,
  path: string,
  json: unknown,
  { timeoutMs = requestTimeoutMs }: Pick<RequestOptions, "timeoutMs"> = {},
): Promise<z.infer<Schema>> {
  const options = { method: "POST", json, idempotencyKey: randomId(), timeoutMs } as const;
  const workMs = Math.max(workMinMs, timeoutMs);
  let lost = 0;
  let lostAt = 0;
  for (;;) {
    try {
      return await request(schema, path, options);
    } catch (error) {
      const isLost = isApiError(error, "unreachable");
      if (isLost) {
        lost++;
        lostAt = performance.now();
      }
      const waitedMs = performance.now() - lostAt;
      // A retry gets a `conflict` that says when to ask again while the API still works on the first request;
      // any other one is the answer.
      const isUndecided = isLost
        ? lost <= maxRetries
        : lost > 0 && isTransientConflict(error) && waitedMs < workMs;
      if (!isUndecided) throw error;
      await new Promise((resolve) => setTimeout(resolve, repeatPauseMs(waitedMs)));
    }
  }
}

/**
 * Returns the pause before a request is sent again whose response was lost so long ago: some half of that
 * time, from 1 to 10 s. Repeats count under the limit of what they repeat, of which the player needs the
 * rest.
 */
export function repeatPauseMs(waitedMs: number, random: () => number = Math.random): number {
  const { minMs, maxMs } = repeatPause;
  return Math.min(Math.max(waitedMs / 2, minMs), maxMs) * (0.75 + random() / 2);
}

function isTransientConflict(error: unknown): boolean {
  return isApiError(error, "conflict") && error.retryAfterSeconds !== undefined;
}

async function send(
  path: string,
  { method, json, form, idempotencyKey, player, timeoutMs = requestTimeoutMs, signal }: RequestOptions,
): Promise<Response> {
  const body =
    form === undefined ? (json === undefined ? undefined : JSON.stringify(json)) : new URLSearchParams(form);
  const timeout = AbortSignal.timeout(timeoutMs);
  try {
    return await fetch(path, {
      method: method ?? (body === undefined ? "GET" : "POST"),
      headers: {
        accept: "application/json",
        ...(json !== undefined && { "content-type": "application/json" }),
        ...(idempotencyKey !== undefined && { "idempotency-key": idempotencyKey }),
        ...(player !== undefined && { [playerHeader]: player }),
      },
      ...(body !== undefined && { body }),
      signal: signal === undefined ? timeout : anySignal(signal, timeout),
    });
  } catch (error) {
    throw new ApiError("unreachable", "The API did not respond.", { cause: error });
  }
}

async function readJson(response: Response): Promise<unknown> {
  let text: string;
  try {
    text = await response.text();
  } catch (error) {
    if (!response.ok && codeForStatus(response.status) !== "unexpected") return undefined; // The status alone is the answer.
    throw new ApiError("unreachable", "The API's response broke off, or was too slow.", { cause: error });
  }
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // The body is empty, or a proxy's page; the caller decides by status and schema.
  }
}

/**
 * Returns the error that an error response stands for. `retryAfterText` is its Retry-After, `body` what its
 * JSON says, if anything.
 */
export function responseError(status: number, retryAfterText: string | null, body: unknown): ApiError {
  const parsed = ErrorBody.safeParse(body).data;
  const retryAfter = Number(retryAfterText ?? Number.NaN);
  return new ApiError(parsed?.error ?? codeForStatus(status), parsed?.message ?? `Status ${status}.`, {
    ...(Number.isFinite(retryAfter) && { retryAfterSeconds: retryAfter }),
    ...(parsed?.sessionId !== undefined && { activeSessionId: parsed.sessionId }),
    ...(parsed?.versionId !== undefined && { readableVersionId: parsed.versionId }),
    ...(parsed?.lack !== undefined && { lack: parsed.lack }),
  });
}

/**
 * Returns the code for an error response whose body says none: it comes from a proxy before the API, or broke
 * off.
 */
function codeForStatus(status: number): "unauthorized" | "rate_limited" | "unavailable" | "unexpected" {
  if (status === 401) return "unauthorized";
  if (status === 429) return "rate_limited";
  return status === 502 || status === 503 || status === 504 ? "unavailable" : "unexpected";
}
