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
  type IceServersResponse,
} from "#contracts/http/gameSessions.ts";
import type { SavesResponse } from "#contracts/http/saves.ts";
import type { QualityRequest } from "#contracts/streamQuality.ts";
import { whep } from "#contracts/stream.ts";
import type { ViewerRole } from "#contracts/viewerRole.ts";
import { ApiClient } from "./apiClient.ts";
import { postSignIn } from "./authForms.ts";

type Method = "GET" | "POST" | "PUT";

/** What a signed-in player asks the running platform for, without waiting for a browser. */
export class PlayerHttp {
  readonly #origin: string;
  readonly #cookie: () => Promise<string>;
  readonly #timeoutMs: number;

  private constructor(origin: string, cookie: () => Promise<string>, timeoutMs = 90_000) {
    this.#origin = origin;
    this.#cookie = cookie;
    this.#timeoutMs = timeoutMs;
  }

  /** Takes the cookies of a page on which the player is signed in, as they are at each call. */
  static of(page: Page): PlayerHttp {
    const { origin } = new URL(page.url());
    return new PlayerHttp(origin, async () =>
      (await page.context().cookies(origin)).map(({ name, value }) => `${name}=${value}`).join("; "),
    );
  }

  /** Signs in by the form, as no browser; throws when the player may not. */
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

  /** Launches the game and returns the session's id with the 202 response. */
  async launch(gameSlug: string, choice: Pick<LaunchRequest, "saveSlotId" | "fresh"> = {}): Promise<string> {
    return (await this.#call<{ sessionId: string }>("POST", "/api/game/launch", { gameSlug, ...choice }))
      .sessionId;
  }

  /** The player's sessions that have not ended. */
  sessions(): Promise<GameSessionsResponse> {
    return this.#call("GET", "/api/game/sessions");
  }

  /** The player's saves of a game. */
  saves(gameSlug: string): Promise<SavesResponse> {
    return this.#call("GET", `/api/games/${gameSlug}/saves`);
  }

  /**
   * When the event that the session runs arrived, in milliseconds of the epoch: the play page follows the
   * same events.
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
      // The lines' end leaves it open, and the request's deadline would end it where nobody listens.
      input.destroy();
    }
    throw new Error(`The session ${sessionId} has ended before it ran.`);
  }

  async keepAlive(sessionId: string): Promise<void> {
    await this.#call("POST", "/api/game/keepalive", { sessionId });
  }

  /** Asks for the end; a long one goes on after the response. */
  async stop(sessionId: string): Promise<void> {
    await this.#call("POST", "/api/game/stop", { sessionId });
  }

  /** A ticket to the session's stream. */
  streamTicket(sessionId: string, role: ViewerRole = "play"): Promise<StreamTicketResponse> {
    return this.#call("POST", "/api/game/stream-ticket", { sessionId, role });
  }

  /** Relays, with the player's credentials. */
  iceServers(): Promise<IceServersResponse> {
    return this.#call("GET", "/api/stream/ice-servers");
  }

  /**
   * Chooses the quality of the player's streams; returns the status, as a service may have no such choice.
   */
  async chooseQuality(quality: QualityRequest): Promise<number> {
    const response = await this.ask("PUT", "/api/account/stream-quality", quality);
    await response.arrayBuffer();
    return response.status;
  }

  /** The answer to a WHEP offer. */
  async offerStream(sessionId: string, sdp: string): Promise<string> {
    return (
      await okOf(
        await this.#send("POST", `/api/stream/${sessionId}`, { "content-type": whep.contentType }, sdp),
      )
    ).text();
  }

  /** What the player is told of the session. */
  status(sessionId: string): Promise<GameSessionStatusResponse> {
    return this.#call("GET", `/api/game/session-status?sessionId=${sessionId}`);
  }

  /** Any response, once, whose body the caller reads; an error when there is none. */
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

  /** Those who ask too often wait as they are told. */
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

/** Returns the response, or throws when the platform refused. */
async function okOf(response: Response): Promise<Response> {
  if (!response.ok) throw new Error(`${response.url}: ${response.status} ${await response.text()}`);
  return response;
}
