import { createInterface } from "node:readline";
import { Readable } from "node:stream";
import { setTimeout } from "node:timers/promises";
import type { Page } from "playwright-core";
import {
  gameSessionEvents,
  type GameSessionsResponse,
  type GameSessionStatusResponse,
  type LaunchRequest,
  type StreamTicketResponse,
} from "#contracts/http/gameSessions.ts";
import { type IceServersResponse } from "#contracts/http/iceServers.ts";
import type { SavesResponse } from "#contracts/http/saves.ts";
import type { QualityRequest } from "#contracts/streamQuality.ts";
import { whep } from "#contracts/stream.ts";
import type { ViewerRole } from "#contracts/viewerRole.ts";
import { ApiClient } from "./apiClient.ts";
import { postSignIn } from "./authForms.ts";

type Method = "GET" | "POST" | "PUT";

/** Sends requests of a signed-in player to the running platform, without a browser. */
export class PlayerHttp {
  readonly #origin: string;
  readonly #cookie: () => Promise<string>;
  readonly #timeoutMs: number;

  private constructor(origin: string, cookie: () => Promise<string>, timeoutMs = 90_000) {
    this.#origin = origin;
    this.#cookie = cookie;
    this.#timeoutMs = timeoutMs;
  }

  /** Uses the current cookies of a page on which the player is signed in. */
  static of(page: Page): PlayerHttp {
    const { origin } = new URL(page.url());
    return new PlayerHttp(origin, async () =>
      (await page.context().cookies(origin)).map(({ name, value }) => `${name}=${value}`).join("; "),
    );
  }

  /**
   * Signs in with the form, without a browser.
   *
   * @throws If the sign-in is rejected.
   */
  static async signIn(
    baseUrl: string,
    player: { email: string; password: string },
    { timeoutMs }: { timeoutMs?: number } = {},
  ): Promise<PlayerHttp> {
    const client = new ApiClient(baseUrl);
    const { status, text } = await postSignIn(client, player);
    if (status !== 200) throw new Error(`${player.email} cannot sign in: ${status} ${text}`);
    const cookie = [...client.cookies].map(([name, value]) => `${name}=${value}`).join("; ");
    return new PlayerHttp(new URL(baseUrl).origin, () => Promise.resolve(cookie), timeoutMs);
  }

  /** Launches the game and returns the id in the 202 response. */
  async launch(gameSlug: string, choice: Pick<LaunchRequest, "saveSlotId" | "fresh"> = {}): Promise<string> {
    return (await this.#call<{ sessionId: string }>("POST", "/api/game/launch", { gameSlug, ...choice }))
      .sessionId;
  }

  /** Returns the player's active sessions. */
  sessions(): Promise<GameSessionsResponse> {
    return this.#call("GET", "/api/game/sessions");
  }

  /** Returns the player's saves of a game. */
  saves(gameSlug: string): Promise<SavesResponse> {
    return this.#call("GET", `/api/games/${gameSlug}/saves`);
  }

  /**
   * Returns when the event `running` arrived, in milliseconds since the epoch. The play page reads the same
   * events.
   */
  async whenRunning(sessionId: string): Promise<number> {
    const { body } = await this.#request("GET", `/api/game/events?sessionId=${sessionId}`);
    if (body === null) throw new Error("There are no events of the session.");
    const input = Readable.from(body);
    try {
      for await (const line of createInterface({ input })) {
        if (line === `event: ${gameSessionEvents.running}`) return Date.now();
        if (line === `event: ${gameSessionEvents.end}`) break;
      }
    } finally {
      // Closing the line reader leaves the input open, and its timeout would then raise an unhandled error.
      input.destroy();
    }
    throw new Error(`The session ${sessionId} has ended before it ran.`);
  }

  async keepAlive(sessionId: string): Promise<void> {
    await this.#call("POST", "/api/game/keepalive", { sessionId });
  }

  /** Requests a stop. The session may end after the response. */
  async stop(sessionId: string): Promise<void> {
    await this.#call("POST", "/api/game/stop", { sessionId });
  }

  /** Returns a ticket for the session's stream. */
  streamTicket(sessionId: string, role: ViewerRole = "play"): Promise<StreamTicketResponse> {
    return this.#call("POST", "/api/game/stream-ticket", { sessionId, role });
  }

  /** Returns the relays with the player's credentials. */
  iceServers(): Promise<IceServersResponse> {
    return this.#call("GET", "/api/stream/ice-servers");
  }

  /** Sets the quality of the player's streams, and returns the status: older services do not support it. */
  async chooseQuality(quality: QualityRequest): Promise<number> {
    const response = await this.ask("PUT", "/api/account/stream-quality", quality);
    await response.arrayBuffer();
    return response.status;
  }

  /** Returns the answer to a WHEP offer. */
  async offerStream(sessionId: string, sdp: string): Promise<string> {
    return (
      await okOf(
        await this.#send("POST", `/api/stream/${sessionId}`, { "content-type": whep.contentType }, sdp),
      )
    ).text();
  }

  /** Returns the status of the session. */
  status(sessionId: string): Promise<GameSessionStatusResponse> {
    return this.#call("GET", `/api/game/session-status?sessionId=${sessionId}`);
  }

  /**
   * Sends one request and returns its response with an unread body.
   *
   * @throws If there is no response.
   */
  ask(method: Method, path: string, body?: object): Promise<Response> {
    return this.#send(
      method,
      path,
      body === undefined ? {} : { "content-type": "application/json" },
      body && JSON.stringify(body),
    );
  }

  async #call<T>(method: Method, path: string, body?: object): Promise<T> {
    return (await (await this.#request(method, path, body)).json()) as T;
  }

  /** Sends a request. If it is rate limited, waits as the response says and retries. */
  async #request(method: Method, path: string, body?: object): Promise<Response> {
    const response = await this.ask(method, path, body);
    const retryAfter = response.headers.get("retry-after");
    if (response.status === 429 && retryAfter !== null) {
      await setTimeout(Number(retryAfter) * 1000);
      return this.#request(method, path, body);
    }
    return okOf(response);
  }

  async #send(
    method: Method,
    path: string,
    headers: Record<string, string>,
    body: string | undefined,
  ): Promise<Response> {
    return fetch(this.#origin + path, {
      method,
      headers: {
        cookie: await this.#cookie(),
        ...(body === undefined ? {} : { ...headers, origin: this.#origin }),
      },
      ...(body === undefined ? {} : { body }),
      signal: AbortSignal.timeout(this.#timeoutMs),
    });
  }
}

/**
 * Returns the response.
 *
 * @throws If it is an error.
 */
async function okOf(response: Response): Promise<Response> {
  if (!response.ok) throw new Error(`${response.url}: ${response.status} ${await response.text()}`);
  return response;
}
