import type { Dispatcher } from "undici";
import { jittered } from "#runtime/scheduling/backOff.ts";
import type { Clock } from "#runtime/scheduling/clock.ts";
import { DeadlineExceeded } from "#runtime/scheduling/deadline.ts";
import { isRecord } from "./decode.ts";
import { KubeError } from "../api/errors.ts";
import type { HttpMethod, KubeRequest } from "./request.ts";

/** Returns the error of a response other than 2xx. */
export async function responseError(
  { statusCode, headers, body }: Dispatcher.ResponseData,
  clock: Clock,
): Promise<KubeError> {
  const text = await body.text();
  const header = headers["retry-after"];
  const retryAfterSeconds = parseRetryAfter(Array.isArray(header) ? header[0] : header, clock.now());
  return statusError(parseStatus(text), statusCode, retryAfterSeconds, text);
}

/** Returns the error of a Status object, from a response or an ERROR event of a watch. */
export function statusError(
  status: unknown,
  fallbackCode: number,
  retryAfterSeconds?: number,
  text = "",
): KubeError {
  const { reason, message, code, details } = isRecord(status) ? status : {};
  const fromDetails =
    isRecord(details) && typeof details.retryAfterSeconds === "number"
      ? details.retryAfterSeconds
      : undefined;
  return new KubeError({
    status: typeof code === "number" && code > 0 ? code : fallbackCode,
    reason: typeof reason === "string" && reason !== "" ? reason : "Unknown",
    message:
      typeof message === "string" && message !== ""
        ? message
        : `The API server responded with ${fallbackCode}: ${text.slice(0, 200)}`,
    retryAfterSeconds: retryAfterSeconds ?? fromDetails,
  });
}

/**
 * Returns the error of a request without a response: the caller's abort reason, or a KubeError without
 * status.
 */
export function transportError(error: unknown, what: string, signal: AbortSignal | undefined): unknown {
  if (error instanceof KubeError) return error;
  if (signal?.aborted) return signal.reason;
  const isTimeout =
    error instanceof DeadlineExceeded || (error instanceof Error && /Timeout/.test(error.name));
  const detail = error instanceof Error ? error.message || error.name : String(error);
  return new KubeError({
    reason: isTimeout ? "Timeout" : "Unreachable",
    message: `${what} got no response: ${detail}`,
    cause: error,
  });
}

function parseStatus(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // A proxy may respond with its own text, which becomes part of the message.
    return undefined;
  }
}

const firstDelayMs = 200;
const maxDelayMs = 10_000;

/**
 * Returns the delay in milliseconds before the n-th retry; undefined if the request must not be retried.
 * After 429 the server did nothing, so any verb may be retried; after other failures only idempotent
 * requests.
 */
export function retryDelayMs(
  request: KubeRequest,
  error: unknown,
  attempt: number,
  random: () => number,
): number | undefined {
  if (!(error instanceof KubeError) || !mayRepeat(request, error)) return undefined;
  const backOffMs = jittered(Math.min(firstDelayMs * 2 ** (attempt - 1), maxDelayMs), random);
  // A request before Retry-After would be refused. Jitter is added to it, so that clients spread out.
  return error.retryAfterSeconds === undefined ? backOffMs : error.retryAfterSeconds * 1000 + backOffMs;
}

/** Returns whether the request is idempotent. */
function isIdempotent({
  method,
  contentType,
}: {
  method: HttpMethod;
  contentType?: string | undefined;
}): boolean {
  if (method === "POST") return false;
  return contentType !== "application/json-patch+json";
}

function mayRepeat(request: KubeRequest, error: KubeError): boolean {
  if (error.status === 429) return true;
  const isServersTrouble = error.status === undefined || (error.status >= 500 && error.status !== 501);
  return isServersTrouble && isIdempotent(request);
}

/** Parses a Retry-After header, a number or an HTTP date, to seconds; undefined without one. */
export function parseRetryAfter(header: string | undefined, now: Date): number | undefined {
  if (header === undefined) return undefined;
  if (/^\d+$/.test(header.trim())) return Number(header);
  const at = Date.parse(header);
  return Number.isNaN(at) ? undefined : Math.max(0, (at - now.getTime()) / 1000);
}
