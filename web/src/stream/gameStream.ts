import type { StreamInput, StreamNotice } from "#contracts/stream.ts";
import { backOffMs } from "./backOff.ts";
import { Emitter } from "./emitter.ts";
import { StreamConnection, type StreamConnectionOptions } from "./streamConnection.ts";
import { isStillStarting, outcomeOf, stateAfter, type ConnectionOutcome, type StreamState } from "./streamState.ts";
import { StreamRefused } from "./whep.ts";

export interface GameStreamEvents {
  state: StreamState;
  /** What to show; a new one for each connection. */
  media: MediaStream;
  notice: StreamNotice;
}

/** The stream of one session: connects, reconnects with back-off, and says where it stands. Knows nothing of the page. */
export class GameStream extends Emitter<GameStreamEvents> {
  readonly #clientId: string;
  #state: StreamState = { phase: "idle" };
  #containerUrl: string | undefined;
  #connection: StreamConnection | undefined;
  /** Waits for the first connect. */
  #prepared: StreamConnection | undefined;
  #hasMedia = false;
  #running = new AbortController();

  constructor(clientId: string) {
    super();
    this.#clientId = clientId;
  }

  get state(): StreamState {
    return this.#state;
  }

  /** Does what can be done before the session has a stream: the picture appears sooner then. */
  prepare(): void {
    this.#prepared ??= new StreamConnection();
    // When the browser cannot even make an offer, connecting will say so.
    this.#prepared.prepare().catch(() => undefined);
  }

  /**
   * Connects to the session's stream, as session-status names it, unless another tab or browser plays already. The session may
   * still be starting: the offer is answered the moment it runs.
   */
  connect(containerUrl: string): void {
    this.#containerUrl = containerUrl;
    this.#start(false);
  }

  /** Connects anew after `failed`. */
  retry(): void {
    this.#start(false);
  }

  /** Connects in the place of another tab or browser, who is told so. */
  takeOver(): void {
    this.#start(true);
  }

  close(): void {
    this.#prepared?.close();
    this.#prepared = undefined;
    this.#disconnect();
  }

  #disconnect(): void {
    this.#running.abort();
    this.#connection?.close();
    this.#connection = undefined;
    this.#setState({ phase: "idle" });
  }

  send(message: StreamInput): void {
    this.#connection?.send(message);
  }

  /** The browser's account of the connection; undefined while there is none. */
  async report(): Promise<RTCStatsReport | undefined> {
    return this.#state.phase === "connected" ? this.#connection?.report() : undefined;
  }

  #start(takeover: boolean): void {
    const containerUrl = this.#containerUrl;
    if (containerUrl === undefined) throw new Error("A stream has to be connected before anything else.");
    this.#disconnect();
    this.#running = new AbortController();
    const { signal } = this.#running;
    this.#run(containerUrl, takeover, signal).catch((error: unknown) => {
      if (!signal.aborted) this.#setState({ phase: "failed", code: "failed", message: messageOf(error) });
    });
  }

  async #run(containerUrl: string, takeover: boolean, signal: AbortSignal): Promise<void> {
    let lastUp = performance.now();
    for (let attempt = 0; ; attempt += 1) {
      this.#setState({ phase: "connecting", isReconnect: attempt > 0 });
      // Only the first connection may push somebody out: a reconnect must not fight another tab for the stream.
      const outcome = await this.#connectOnce({ containerUrl, clientId: this.#clientId, takeover, signal }, () => {
        attempt = 0;
        takeover = false;
      });
      if (signal.aborted) return;
      if (outcome.kind === "lost") lastUp = performance.now();
      if (isStillStarting(outcome)) { // its start has deadlines of its own
        lastUp = performance.now();
        attempt = 0;
      }
      const next = stateAfter(outcome, performance.now() - lastUp);
      if (next !== undefined) {
        this.#setState(next);
        return;
      }
      await this.#pause(backOffMs(attempt), signal);
    }
  }

  /** One connection until its end. */
  async #connectOnce(options: StreamConnectionOptions, onUp: () => void): Promise<ConnectionOutcome> {
    const connection = this.#prepared ?? new StreamConnection();
    this.#prepared = undefined;
    this.#connection = connection;
    const ended = this.#endOf(connection);
    // The browser gets its players ready while the session starts; after that the last picture stays until there may be a new one.
    if (!this.#hasMedia) this.emit("media", connection.media);
    else connection.on("answered", () => this.emit("media", connection.media));
    this.#hasMedia = true;
    try {
      await connection.open(options);
    } catch (error) {
      return { kind: "unreached", code: error instanceof StreamRefused ? error.code : "unreachable", message: messageOf(error) };
    }
    onUp();
    this.#setState({ phase: "connected" });
    return ended;
  }

  #endOf(connection: StreamConnection): Promise<ConnectionOutcome> {
    return new Promise((resolve) => {
      connection.on("lost", () => resolve({ kind: "lost" }));
      connection.on("notice", (notice) => {
        this.emit("notice", notice);
        const outcome = outcomeOf(notice);
        if (outcome === undefined) return;
        connection.close();
        resolve(outcome);
      });
    });
  }

  async #pause(delayMs: number, signal: AbortSignal): Promise<void> {
    this.#setState({ phase: "waiting", retryInMs: delayMs });
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, delayMs);
      const stopWaiting = (): void => {
        clearTimeout(timer);
        resolve();
      };
      signal.addEventListener("abort", stopWaiting, { once: true });
      // The network is back: no need to sit out the rest.
      window.addEventListener("online", stopWaiting, { once: true, signal });
    });
    signal.throwIfAborted();
  }

  #setState(state: StreamState): void {
    this.#state = state;
    this.emit("state", state);
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
