import { Agent, type Dispatcher } from "undici";
import { whep } from "#contracts/stream.ts";
import { unavailable } from "../errors.ts";

const port = 8080;
/** A streamer that is starting keeps an offer pending for less than this (its `holdMs`). */
const deadlineMs = 10_000;
const responseMaxBytes = 4 * whep.maxOfferBytes;

/** A browser's offer for a session. */
export interface StreamOffer {
  sessionId: string;
  /** The query string, forwarded as it is. */
  query: string;
  sdp: string;
  /** Aborted when the browser has disconnected. */
  signal: AbortSignal;
}

/** A streamer's response. */
export interface StreamerResponse {
  status: number;
  contentType: string;
  /** The id of the new connection. */
  connectionId: string | undefined;
  body: string;
}

/** A WHEP client for the streamers in session pods. Its methods throw unavailable when a streamer does not respond. */
export class StreamerClient {
  readonly #dispatcher: Dispatcher = new Agent({
    connections: 2, keepAliveTimeout: 1_000, connect: { timeout: 3_000 }, headersTimeout: deadlineMs, bodyTimeout: deadlineMs,
    maxResponseSize: responseMaxBytes,
  });

  /** Posts an offer and returns the response. The offer names its session: the address may be another pod's by now, whose streamer refuses it. */
  async offer(podIp: string, { sessionId, query, sdp, signal }: StreamOffer): Promise<StreamerResponse> {
    const path = query === "" ? whep.path : `${whep.path}?${query}`;
    return this.#send(podIp, { method: "POST", path, headers: { "content-type": whep.contentType, [whep.sessionHeader]: sessionId }, body: sdp }, signal);
  }

  /** Closes a connection and returns the response. */
  async hangUp(podIp: string, connectionId: string): Promise<StreamerResponse> {
    return this.#send(podIp, { method: "DELETE", path: `${whep.path}/${connectionId}` });
  }

  async close(): Promise<void> {
    await this.#dispatcher.close();
  }

  async #send(podIp: string, request: Pick<Dispatcher.RequestOptions, "method" | "path" | "headers" | "body">, disconnected?: AbortSignal): Promise<StreamerResponse> {
    const deadline = AbortSignal.timeout(deadlineMs);
    const host = podIp.includes(":") ? `[${podIp}]` : podIp;
    try {
      const { statusCode, headers, body } = await this.#dispatcher.request({
        origin: `http://${host}:${port}`, ...request, signal: disconnected === undefined ? deadline : AbortSignal.any([disconnected, deadline]),
      });
      return {
        status: statusCode,
        contentType: first(headers["content-type"]) ?? "text/plain; charset=utf-8",
        connectionId: connectionIdOf(first(headers.location)),
        body: await body.text(),
      };
    } catch (cause) {
      throw unavailable("The stream does not answer: try again in a moment.", cause, 1);
    }
  }
}

function first(header: string | string[] | undefined): string | undefined {
  return Array.isArray(header) ? header[0] : header;
}

function connectionIdOf(location: string | undefined): string | undefined {
  return /^\/whep\/([A-Za-z0-9_-]{1,64})$/.exec(location ?? "")?.[1];
}
