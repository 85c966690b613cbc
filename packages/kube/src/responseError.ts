import type { Dispatcher } from "undici";
import type { Clock } from "#runtime/clock.ts";
import { isRecord } from "./decode.ts";
import { DeadlineExceeded } from "#runtime/deadline.ts";
import { KubeError } from "./errors.ts";
import { parseRetryAfter } from "./retry.ts";

/** Returns the error that a response other than 2xx stands for. */
export async function responseError(
  { statusCode, headers, body }: Dispatcher.ResponseData,
  clock: Clock,
): Promise<KubeError> {
  const text = await body.text();
  const header = headers["retry-after"];
  const retryAfterSeconds = parseRetryAfter(Array.isArray(header) ? header[0] : header, clock.now());
  return statusError(parseStatus(text), statusCode, retryAfterSeconds, text);
}

/** Returns the error that a Status object stands for, be it a whole response or an ERROR event of a watch. */
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
        : `The API server answered ${fallbackCode}: ${text.slice(0, 200)}`,
    retryAfterSeconds: retryAfterSeconds ?? fromDetails,
  });
}

/**
 * Returns what a caller sees of a request without response: the reason of their own abort, or a KubeError
 * without status.
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
    // A proxy in between responds with a text of its own, which goes into the message.
    return undefined;
  }
}
