import { whep } from "#contracts/stream.ts";

/** Longer than offers stay pending while a session starts. */
const requestTimeoutMs = (whep.pendingOfferSeconds + 15) * 1_000;

/** An offer that was refused or never answered. `code` is the `error` word of the answer, or `unreachable`. */
export class StreamRefused extends Error {
  override readonly name = "StreamRefused";
  readonly code: string;

  constructor(code: string, message: string, options?: ErrorOptions) {
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
  /** Where the connection can be deleted; null when the server named no place. */
  resourceUrl: string | null;
}

/** Posts an offer to the session's stream. Throws StreamRefused. */
export async function postOffer({ containerUrl, clientId, takeover, sdp, signal }: WhepOffer): Promise<WhepAnswer> {
  const url = new URL(containerUrl, location.href);
  url.searchParams.set(whep.clientParameter, clientId);
  if (takeover) url.searchParams.set(whep.takeoverParameter, "true");
  const response = await send(url, {
    method: "POST",
    headers: { "content-type": whep.contentType },
    body: sdp,
    signal: AbortSignal.any([signal, AbortSignal.timeout(requestTimeoutMs)]),
  });
  if (!response.ok) throw await refusalOf(response);
  const place = response.headers.get("location");
  return { sdp: await response.text(), resourceUrl: place === null ? null : new URL(place, response.url || url).href };
}

/** Hangs up; also works while the page is being left. A failure is the streamer's to notice: it sees silence soon enough. */
export function deleteResource(resourceUrl: string): void {
  fetch(resourceUrl, { method: "DELETE", keepalive: true }).catch(() => undefined);
}

async function send(url: URL, request: RequestInit): Promise<Response> {
  try {
    return await fetch(url, request);
  } catch (error) {
    throw new StreamRefused("unreachable", "The stream did not answer.", { cause: error });
  }
}

async function refusalOf(response: Response): Promise<StreamRefused> {
  const text = await response.text().catch(() => "");
  const { error, message } = readRefusal(text);
  return new StreamRefused(error ?? `status_${response.status}`, message ?? `The stream answered with status ${response.status}.`);
}

function readRefusal(text: string): { error?: string; message?: string } {
  try {
    const body: unknown = JSON.parse(text);
    if (typeof body !== "object" || body === null) return {};
    return {
      ...("error" in body && typeof body.error === "string" && { error: body.error }),
      ...("message" in body && typeof body.message === "string" && { message: body.message }),
    };
  } catch {
    return {}; // A proxy's page in between, not one of our answers: the status says enough.
  }
}
