import type { StreamInput, StreamNotice } from "#contracts/stream.ts";
import { backOffMs } from "./backOff.ts";
import { canStream } from "./canStream.ts";
import { Downtime } from "./downtime.ts";
import { Emitter } from "./emitter.ts";
import { IceServers } from "./iceServers.ts";
import { NoPath, StreamConnection, type StreamConnectionOptions } from "./streamConnection.ts";
import {
  isStillStarting,
  toOutcome,
  stateAfter,
  type ConnectionOutcome,
  type StreamState,
} from "./streamState.ts";
import { WhepError } from "./whep.ts";

type QualityMessage = Extract<StreamInput, { t: "quality" }>;

export interface GameStreamEvents {
  state: StreamState;
  /** The media to play; a new one for each connection. */
  media: MediaStream;
  notice: StreamNotice;
}

/**
 * The stream of one session: it connects, reconnects with back-off, and reports its state. It does not depend
 * on the page.
 */
export class GameStream extends Emitter<GameStreamEvents> {
  readonly #clientId: string;
  readonly #iceServers = new IceServers();
  #state: StreamState = { phase: "idle" };
  #containerUrl: string | undefined;
  #connection: StreamConnection | undefined;
  /** Made by `prepare`, used by the first connect. */
  #prepared: StreamConnection | undefined;
  #hasMedia = false;
  #connectionId: string | undefined;
  /** The last requested quality, for the next connection: the current one may be lost before it is sent. */
  #quality: QualityMessage | undefined;
  #running = new AbortController();

  constructor(clientId: string) {
    super();
    this.#clientId = clientId;
  }

  get state(): StreamState {
    return this.#state;
  }

  /** The last connection that the streamer accepted; undefined before the first. */
  get connectionId(): string | undefined {
    return this.#connectionId;
  }

  /** Makes the offer before the session has a stream, to show the picture sooner. */
  prepare(): void {
    if (!canStream()) return; // `connect` reports it.
    this.#prepared ??= new StreamConnection(this.#iceServers);
    // A browser that cannot make an offer fails again in `connect`, which reports it.
    this.#prepared.prepare().catch(() => undefined);
  }

  /**
   * Connects to the session's stream at the address in its status, unless another tab or browser plays
   * already. The session may still be starting: the offer is answered as soon as it runs.
   */
  connect(containerUrl: string): void {
    this.#containerUrl = containerUrl;
    this.#start(false);
  }

  /** Connects again after `failed`, or after `ended` if the session continues. */
  retry(): void {
    this.#start(false);
  }

  /** Connects in place of another tab or browser, which is notified. */
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
    if (message.t === "quality") this.#quality = message;
    this.#connection?.send(message);
  }

  /** Returns the browser's statistics of the connection; undefined without one. */
  async report(): Promise<RTCStatsReport | undefined> {
    return this.#state.phase === "connected" ? this.#connection?.report() : undefined;
  }

  #start(takeover: boolean): void {
    const containerUrl = this.#containerUrl;
    if (containerUrl === undefined) throw new Error("A stream has to be connected before anything else.");
    this.#disconnect();
    if (!canStream()) {
      this.#setState({ phase: "failed", code: "unsupported", message: "There is no WebRTC." });
      return;
    }
    this.#running = new AbortController();
    const { signal } = this.#running;
    this.#run(containerUrl, takeover, signal).catch((error: unknown) => {
      if (!signal.aborted) this.#setState({ phase: "failed", code: "failed", message: messageOf(error) });
    });
  }

  async #run(containerUrl: string, takeover: boolean, signal: AbortSignal): Promise<void> {
    const downtime = new Downtime();
    let wasUp = false;
    for (let attempt = 0; ; attempt += 1) {
      this.#setState({ phase: "connecting", isReconnect: wasUp });
      const outcome = await this.#connectOnce(
        { containerUrl, clientId: this.#clientId, takeover, signal },
        {
          // A stream is taken over once, even if the connection then fails: otherwise two tabs would take it
          // from each other in turns.
          onAnswered: () => {
            takeover = false;
          },
          onUp: () => {
            attempt = 0;
            wasUp = true;
          },
        },
      );
      if (signal.aborted) return;
      if (outcome.kind === "lost") downtime.restart();
      if (isStillStarting(outcome)) {
        // The start of a session has separate deadlines.
        downtime.restart();
        attempt = 0;
      }
      const next = stateAfter(outcome, downtime.afterTry());
      if (next !== undefined) {
        if (next.phase === "occupied") this.#quality = undefined; // The other tab may have requested another quality since.
        this.#setState(next);
        return;
      }
      if (!(outcome.kind === "lost" && outcome.isReachable))
        await this.#pause(backOffMs(attempt), wasUp, signal);
    }
  }

  /** Connects once; resolves when the connection has ended. */
  async #connectOnce(
    options: StreamConnectionOptions,
    { onAnswered, onUp }: { onAnswered: () => void; onUp: () => void },
  ): Promise<ConnectionOutcome> {
    const connection = this.#prepared ?? new StreamConnection(this.#iceServers);
    this.#prepared = undefined;
    this.#connection = connection;
    const ended = this.#endOf(connection);
    connection.on("answered", onAnswered);
    connection.on("answered", () => {
      this.#connectionId = connection.id ?? this.#connectionId;
    });
    // The first media is emitted early, for the browser to prepare its decoders; later media only when
    // pictures may arrive, to show the last picture until then.
    if (!this.#hasMedia) this.emit("media", connection.media);
    else connection.on("answered", () => this.emit("media", connection.media));
    this.#hasMedia = true;
    try {
      await connection.open(options);
    } catch (error) {
      if (error instanceof NoPath) return { kind: "noPath" };
      return {
        kind: "connectFailed",
        code: error instanceof WhepError ? error.code : "unreachable",
        message: messageOf(error),
      };
    }
    onUp();
    this.#setState({ phase: "connected" });
    return ended;
  }

  #endOf(connection: StreamConnection): Promise<ConnectionOutcome> {
    return new Promise((resolve) => {
      connection.on("lost", ({ isReachable }) => resolve({ kind: "lost", isReachable }));
      connection.on("notice", (notice) => {
        this.emit("notice", notice);
        if (notice.t === "hello" && this.#quality !== undefined) connection.send(this.#quality);
        if (notice.t === "taken-over") this.#quality = undefined;
        const outcome = toOutcome(notice);
        if (outcome === undefined) return;
        connection.close();
        resolve(outcome);
      });
    });
  }

  async #pause(delayMs: number, isReconnect: boolean, signal: AbortSignal): Promise<void> {
    this.#setState({ phase: "waiting", retryInMs: delayMs, isReconnect });
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, delayMs);
      const stopWaiting = (): void => {
        clearTimeout(timer);
        resolve();
      };
      signal.addEventListener("abort", stopWaiting, { once: true });
      // The network is back: retry now.
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
