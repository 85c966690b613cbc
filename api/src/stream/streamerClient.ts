import { Agent, type Dispatcher } from "undici";
import { signalPort, whep } from "#contracts/stream.ts";
import { unavailable } from "../errors.ts";

/** A starting streamer keeps an offer pending for less than this (its `pendingOfferMs`). */
const deadlineMs = 10_000;
const maxResponseBytes = 4 * whep.maxOfferBytes;

/** A browser's offer and its session. */
export interface StreamOffer {
  sessionId: string;
  /** Undefined if the streamer requires none. */
  ticket: string | undefined;
  /** Forwarded unchanged. */
  query: string;
  sdp: string;
  /** Aborted when the browser disconnects. */
  signal: AbortSignal;
}

/** A streamer's response to a request. */
export interface StreamerResponse {
  status: number;
  contentType: string;
  /** The new connection's id. */
  connectionId: string | undefined;
  body: string;
}

/**
 * Sends WHEP requests to the streamers in session pods.
 *
 * @throws DomainError `unavailable` if one does not respond.
 */
export class StreamerClient {
  readonly #dispatcher: Dispatcher = new Agent({
    connections: 2,
    keepAliveTimeout: 1_000,
    connect: { timeout: 3_000 },
    headersTimeout: deadlineMs,
    bodyTimeout: deadlineMs,
    maxResponseSize: maxResponseBytes,
  });

  /**
   * Posts an offer with its session id: if the address belongs to another pod by now, its streamer responds
   * with not_ready.
   */
  async offer(
    podIp: string,
    { sessionId, ticket, query, sdp, signal }: StreamOffer,
  ): Promise<StreamerResponse> {
    const path = query === "" ? whep.path : `${whep.path}?${query}`;
    const headers = { "content-type": whep.contentType, [whep.sessionHeader]: sessionId, ...bearing(ticket) };
    return this.#send(podIp, { method: "POST", path, headers, body: sdp }, signal);
  }

  async hangUp(
    podIp: string,
    { connectionId, ticket }: { connectionId: string; ticket: string | undefined },
  ): Promise<StreamerResponse> {
    return this.#send(podIp, {
      method: "DELETE",
      path: `${whep.path}/${connectionId}`,
      headers: bearing(ticket),
    });
  }

  async close(): Promise<void> {
    await this.#dispatcher.close();
  }

  async #send(
    podIp: string,
    request: Pick<Dispatcher.RequestOptions, "method" | "path" | "headers" | "body">,
    left?: AbortSignal,
  ): Promise<StreamerResponse> {
    const deadline = AbortSignal.timeout(deadlineMs);
    const host = podIp.includes(":") ? `[${podIp}]` : podIp;
    try {
      const { statusCode, headers, body } = await this.#dispatcher.request({
        origin: `http://${host}:${signalPort}`,
        ...request,
        signal: left === undefined ? deadline : AbortSignal.any([left, deadline]),
      });
      return {
        status: statusCode,
        contentType: first(headers["content-type"]) ?? "text/plain; charset=utf-8",
        connectionId: connectionIdOf(first(headers.location)),
        body: await body.text(),
      };
    } catch (cause) {
      throw unavailable("The stream does not respond. Try again in a moment.", cause, 1);
    }
  }
}

function bearing(ticket: string | undefined): Record<string, string> {
  return ticket === undefined ? {} : { authorization: `Bearer ${ticket}` };
}

function first(header: string | string[] | undefined): string | undefined {
  return Array.isArray(header) ? header[0] : header;
}

function connectionIdOf(location: string | undefined): string | undefined {
  return /^\/whep\/([A-Za-z0-9_-]{1,64})$/.exec(location ?? "")?.[1];
}
