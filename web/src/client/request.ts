/** One HTTP request to the API: sends it, reads the JSON response and checks it against a contract. */
import type { z } from "zod";
import { playerHeader } from "#contracts/http/auth.ts";
import { ErrorBody } from "#contracts/http/errors.ts";
import { ApiError, isApiError } from "./apiError.ts";
import { joinSignals, randomId } from "./browser.ts";

const requestTimeoutMs = 15_000;
const maxRetries = 2;
const repeatPause = { minMs: 1_000, maxMs: 10_000 };
/**
 * The API may work for at least this long on a request whose response was lost: longer than a launch waits in
 * its queue.
 */
const workMinMs = 60_000;

/** Without a method, a request with a body (`json` or `form`) is a POST, any other a GET. */
export interface RequestOptions {
  method?: "POST" | "PUT" | "PATCH" | "DELETE";
  json?: unknown;
  form?: Record<string, string>;
  idempotencyKey?: string;
  /**
   * Id of the player whom the request is for; the API answers `unauthorized` if somebody else is signed in.
   */
  player?: string | undefined;
  timeoutMs?: number;
  signal?: AbortSignal | undefined;
}

/**
 * Returns the body of the response. Throws ApiError for an error response, a missing or incomplete response,
 * and a body that does not match the schema.
 */
export async function request<Schema extends z.ZodType>(
  schema: Schema,
  path: string,
  options: RequestOptions = {},
): Promise<z.infer<Schema>> {
  return (await requestDated(schema, path, options)).body;
}

/**
 * The same with the time of the response in milliseconds since 1970: by the server's clock to the second, or
 * by the local clock if a proxy removed the header.
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
 * Posts a request that must not be executed twice. After an incomplete response it is retried with the same
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
      // A retry gets a `conflict` with Retry-After while the API still works on the first request; any other
      // conflict is final.
      const isUndecided = isLost
        ? lost <= maxRetries
        : lost > 0 && isTransientConflict(error) && waitedMs < workMs;
      if (!isUndecided) throw error;
      await new Promise((resolve) => setTimeout(resolve, repeatPauseMs(waitedMs)));
    }
  }
}

/**
 * Returns the pause before a request is retried whose response was lost `waitedMs` ago: about half of that
 * time, from 1 to 10 s. Retries count against the rate limit of the original request.
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
      signal: signal === undefined ? timeout : joinSignals(signal, timeout),
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
    if (!response.ok && codeForStatus(response.status) !== "unexpected") return undefined; // The status is enough.
    throw new ApiError("unreachable", "The API's response broke off, or was too slow.", { cause: error });
  }
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // The body is empty or a proxy's page; the caller decides by status and schema.
  }
}

/** Returns the error for an error response with this Retry-After and JSON body, if any. */
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
 * Returns the code for an error response without a known code: it comes from a proxy in front of the API, or
 * is incomplete.
 */
function codeForStatus(status: number): "unauthorized" | "rate_limited" | "unavailable" | "unexpected" {
  if (status === 401) return "unauthorized";
  if (status === 429) return "rate_limited";
  return status === 502 || status === 503 || status === 504 ? "unavailable" : "unexpected";
}
