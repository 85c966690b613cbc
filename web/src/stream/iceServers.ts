import { IceServersResponse } from "#contracts/http/gameSessions.ts";
import { iceServersAddress, rtcIceServersOf } from "../client/connectionTests.ts";

/** A connection is not held up for longer: most players reach the game's server without a relay. */
const requestTimeoutMs = 3_000;
/** New credentials are asked for when no more than this share of their time is left. */
const renewedAtShare = 0.25;

/** Where relays and their credentials come from. */
export interface IceServersOptions {
  fetch: (url: string, request: RequestInit) => Promise<Response>;
  /**
   * Milliseconds of the epoch: a monotonic clock stands still while most systems sleep, and the relay's goes
   * on.
   */
  now: () => number;
}

/** The relays that connections may use, with credentials that are renewed before they end. */
export class IceServers {
  readonly #options: IceServersOptions;
  #known: { servers: RTCIceServer[]; sinceMs: number; lifetimeMs: number } | undefined;
  #asking: Promise<void> | undefined;

  constructor(
    options: IceServersOptions = { fetch: (url, request) => fetch(url, request), now: () => Date.now() },
  ) {
    this.#options = options;
  }

  /** Returns the relays; none where there are none, or where they cannot be had in time. Never throws. */
  async current(): Promise<RTCIceServer[]> {
    if (this.#spentShare() >= 1 - renewedAtShare) {
      this.#asking ??= this.#ask()
        .catch(() => undefined)
        .finally(() => {
          this.#asking = undefined;
        });
      await this.#asking;
    }
    return this.#known !== undefined && this.#spentShare() < 1 ? this.#known.servers : [];
  }

  /**
   * Returns the share of the credentials' time that is over; all of it where the clock was put back, after
   * which nobody knows.
   */
  #spentShare(): number {
    if (this.#known === undefined) return 1;
    const ageMs = this.#options.now() - this.#known.sinceMs;
    return ageMs < 0 ? 1 : ageMs / this.#known.lifetimeMs;
  }

  async #ask(): Promise<void> {
    const { fetch: send, now } = this.#options;
    const response = await send(iceServersAddress, { signal: AbortSignal.timeout(requestTimeoutMs) });
    if (!response.ok) return;
    const known = IceServersResponse.parse(await response.json());
    this.#known = {
      servers: rtcIceServersOf(known),
      sinceMs: now(),
      lifetimeMs: known.expiresInSeconds * 1_000,
    };
  }
}
