import { IceServersResponse } from "#contracts/http/iceServers.ts";
import { iceServersPath, toRtcIceServers } from "../client/connectionTests.ts";

/** A connection waits at most this long: most players reach the game server without a relay. */
const requestTimeoutMs = 3_000;
/** Credentials are renewed when at most this share of their lifetime is left. */
const renewedAtShare = 0.25;

/** Dependencies of IceServers. */
export interface IceServersOptions {
  fetch: (url: string, request: RequestInit) => Promise<Response>;
  /**
   * Milliseconds since 1970: a monotonic clock stops while most systems sleep, but the relay's clock does
   * not.
   */
  now: () => number;
}

/** The relays for connections, with credentials that are renewed before they expire. */
export class IceServers {
  readonly #options: IceServersOptions;
  #known: { servers: RTCIceServer[]; sinceMs: number; lifetimeMs: number } | undefined;
  #asking: Promise<void> | undefined;

  constructor(
    options: IceServersOptions = { fetch: (url, request) => fetch(url, request), now: () => Date.now() },
  ) {
    this.#options = options;
  }

  /** Returns the relays; empty if there are none or they cannot be read in time. Never throws. */
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
   * Returns the share of the credentials' lifetime that has passed; 1 if the clock was set back, after which
   * it is unknown.
   */
  #spentShare(): number {
    if (this.#known === undefined) return 1;
    const ageMs = this.#options.now() - this.#known.sinceMs;
    return ageMs < 0 ? 1 : ageMs / this.#known.lifetimeMs;
  }

  async #ask(): Promise<void> {
    const { fetch: send, now } = this.#options;
    const response = await send(iceServersPath, { signal: AbortSignal.timeout(requestTimeoutMs) });
    if (!response.ok) return;
    const known = IceServersResponse.parse(await response.json());
    this.#known = {
      servers: toRtcIceServers(known),
      sinceMs: now(),
      lifetimeMs: known.expiresInSeconds * 1_000,
    };
  }
}
