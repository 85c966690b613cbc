import { IceServersResponse } from "#contracts/http/iceServers.ts";
import { iceServersAddress, rtcIceServersOf } from "../client/iceServers.ts";

/** A connection is not held up for longer: most players reach the game's server without a relay. */
const requestTimeoutMs = 3_000;
/** New credentials are asked for when no more than this share of their time is left. */
const renewedAtShare = 0.25;

/** Where relays and their credentials come from. */
export interface IceServersOptions {
  fetch: (url: string, request: RequestInit) => Promise<Response>;
  /** Monotonic, in milliseconds. */
  now: () => number;
}

/** The relays that connections may use, with credentials that are renewed before they end. */
export class IceServers {
  readonly #options: IceServersOptions;
  #known: { servers: RTCIceServer[]; renewAtMs: number; endAtMs: number } | undefined;
  #asking: Promise<void> | undefined;

  constructor(options: IceServersOptions = { fetch: (url, request) => fetch(url, request), now: () => performance.now() }) {
    this.#options = options;
  }

  /** Returns the relays; none where there are none, or where they cannot be had in time. Never throws. */
  async current(): Promise<RTCIceServer[]> {
    const { now } = this.#options;
    if (this.#known === undefined || now() >= this.#known.renewAtMs) {
      this.#asking ??= this.#ask().catch(() => undefined).finally(() => {
        this.#asking = undefined;
      });
      await this.#asking;
    }
    return this.#known !== undefined && now() < this.#known.endAtMs ? this.#known.servers : [];
  }

  async #ask(): Promise<void> {
    const { fetch: send, now } = this.#options;
    const response = await send(iceServersAddress, { signal: AbortSignal.timeout(requestTimeoutMs) });
    if (!response.ok) return;
    const known = IceServersResponse.parse(await response.json());
    const lifetimeMs = known.expiresInSeconds * 1_000;
    this.#known = { servers: rtcIceServersOf(known), renewAtMs: now() + lifetimeMs * (1 - renewedAtShare), endAtMs: now() + lifetimeMs };
  }
}
