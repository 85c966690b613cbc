import { ErrorBody, type ErrorCode } from "#contracts/http/errors.ts";
import { whep } from "#contracts/stream.ts";
import { joinSignals } from "../client/browser.ts";

/** Longer than offers stay pending while a session starts. */
const requestTimeoutMs = (whep.pendingOfferSeconds + 15) * 1_000;

/**
 * Why an offer failed: the `error` of the response, its status if the body has no known error, or no response
 * at all.
 */
export type OfferErrorCode = ErrorCode | `status_${number}` | "unreachable";

/** An offer with an error response or without a response. */
export class WhepError extends Error {
  override readonly name = "WhepError";
  readonly code: OfferErrorCode;

  constructor(code: OfferErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

export interface WhepOffer {
  containerUrl: string;
  clientId: string;
  takeover: boolean;
  sdp: string;
  signal: AbortSignal;
}

export interface WhepAnswer {
  sdp: string;
  /** The address that deletes the connection; null if the response has no location. */
  resourceUrl: string | null;
}

/** Posts an offer to the session's stream; returns its answer. Throws WhepError. */
export async function postOffer({
  containerUrl,
  clientId,
  takeover,
  sdp,
  signal,
}: WhepOffer): Promise<WhepAnswer> {
  const url = new URL(containerUrl, location.href);
  url.searchParams.set(whep.clientParameter, clientId);
  if (takeover) url.searchParams.set(whep.takeoverParameter, "true");
  const response = await send(url, {
    method: "POST",
    headers: { "content-type": whep.contentType },
    body: sdp,
    signal: joinSignals(signal, AbortSignal.timeout(requestTimeoutMs)),
  });
  if (!response.ok) throw await responseError(response);
  const resource = response.headers.get("location");
  return {
    sdp: await response.text(),
    resourceUrl: resource === null ? null : new URL(resource, response.url || url).href,
  };
}

/**
 * Ends a connection at the streamer, also while the page is being left. Failures are ignored, because the
 * streamer notices a silent browser.
 */
export function deleteResource(resourceUrl: string): void {
  fetch(resourceUrl, { method: "DELETE", keepalive: true }).catch(() => undefined);
}

async function send(url: URL, request: RequestInit): Promise<Response> {
  try {
    return await fetch(url, request);
  } catch (error) {
    throw new WhepError("unreachable", "The stream did not answer.", { cause: error });
  }
}

async function responseError(response: Response): Promise<WhepError> {
  const text = await response.text().catch(() => "");
  const body = ErrorBody.safeParse(parseJson(text)).data;
  return new WhepError(
    body?.error ?? `status_${response.status}`,
    body?.message ?? `The stream answered with status ${response.status}.`,
  );
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // The body is a proxy's page; the status is enough.
  }
}
