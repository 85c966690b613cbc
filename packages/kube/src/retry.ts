import { jittered } from "#runtime/backOff.ts";
import { KubeError } from "./errors.ts";
import type { HttpMethod, KubeRequest } from "./request.ts";

const firstDelayMs = 200;
const maxDelayMs = 10_000;

/**
 * Returns the milliseconds to wait before the request is sent again after its n-th failure; undefined when it
 * must not be repeated. 429 means the server did nothing, so any verb may be repeated; after another failure
 * only what may happen twice.
 */
export function retryDelayMs(
  request: KubeRequest,
  error: unknown,
  attempt: number,
  random: () => number,
): number | undefined {
  if (!(error instanceof KubeError) || !mayRepeat(request, error)) return undefined;
  const backOffMs = jittered(Math.min(firstDelayMs * 2 ** (attempt - 1), maxDelayMs), random);
  // A request before Retry-After would be refused; the jitter comes on top so that clients spread out.
  return error.retryAfterSeconds === undefined ? backOffMs : error.retryAfterSeconds * 1000 + backOffMs;
}

/** Whether carrying the request out twice leaves the same state as carrying it out once. */
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

/**
 * Returns the seconds that a Retry-After header asks for, as a number or as an HTTP date; undefined without
 * one.
 */
export function parseRetryAfter(header: string | undefined, now: Date): number | undefined {
  if (header === undefined) return undefined;
  if (/^\d+$/.test(header.trim())) return Number(header);
  const at = Date.parse(header);
  return Number.isNaN(at) ? undefined : Math.max(0, (at - now.getTime()) / 1000);
}
