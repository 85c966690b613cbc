import type { Dispatcher } from "undici";
import type { Clock } from "#runtime/clock.ts";
import { isRecord } from "./decode.ts";
import { DeadlineExceeded } from "#runtime/deadline.ts";
import { KubeError } from "./errors.ts";
import { parseRetryAfter } from "./retry.ts";

/** The error an answer other than 2xx stands for. */
export async function errorOfAnswer({ statusCode, headers, body }: Dispatcher.ResponseData, clock: Clock): Promise<KubeError> {
  const text = await body.text();
  const header = headers["retry-after"];
  const retryAfterSeconds = parseRetryAfter(Array.isArray(header) ? header[0] : header, clock.now());
  return errorOfStatus(parseStatus(text), statusCode, retryAfterSeconds, text);
}

/** The error a Status object stands for, be it a whole answer or an ERROR event of a watch. */
export function errorOfStatus(
  status: unknown, fallbackCode: number, retryAfterSeconds?: number, text = "",
): KubeError {
  const { reason, message, code, details } = isRecord(status) ? status : {};
  const fromDetails = isRecord(details) && typeof details.retryAfterSeconds === "number" ? details.retryAfterSeconds : undefined;
  return new KubeError({
    status: typeof code === "number" && code > 0 ? code : fallbackCode,
    reason: typeof reason === "string" && reason !== "" ? reason : "Unknown",
    message: typeof message === "string" && message !== "" ? message : `The API server answered ${fallbackCode}: ${text.slice(0, 200)}`,
    retryAfterSeconds: retryAfterSeconds ?? fromDetails,
  });
}

/** What a failure without an answer is to the caller: their own abort, or a KubeError without status. */
export function errorOfTransport(error: unknown, what: string, signal: AbortSignal | undefined): unknown {
  if (error instanceof KubeError) return error;
  if (signal?.aborted) return signal.reason;
  const isTimeout = error instanceof DeadlineExceeded || (error instanceof Error && /Timeout/.test(error.name));
  const detail = error instanceof Error ? error.message || error.name : String(error);
  return new KubeError({ reason: isTimeout ? "Timeout" : "Unreachable", message: `${what} got no answer: ${detail}`, cause: error });
}

function parseStatus(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // A proxy in between answers in its own words; they go into the message.
    return undefined;
  }
}
