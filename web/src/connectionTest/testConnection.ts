import { connectionTest, TestNotice, type TestBurst, type TestRequest } from "#contracts/connectionTest.ts";
import { PacketCounter } from "./packetCounter.ts";

const connectDeadlineMs = 6_000;
const pingEveryMs = 50;
/** Packets may arrive after the message about the end of their burst. */
const stragglersMs = 300;
/** Time for the end of a burst to arrive, after the duration of the burst. */
const patienceMs = 1_500;

export interface TestConnectionOptions {
  /** Returns a responder's SDP answer to the offer. */
  sdpAnswer: (sdp: string, signal: AbortSignal) => Promise<string>;
  iceServers: RTCIceServer[];
  /** Whether only relays may be used. */
  isRelayed: boolean;
  signal: AbortSignal;
}

/** Packets do not get through to the server, or no longer do. */
export class PathBlocked extends Error {
  override readonly name = "PathBlocked";
}

/** A connection to a game server's responder. */
export class TestConnection {
  readonly #peer: RTCPeerConnection;
  readonly #control: RTCDataChannel;
  readonly #packets: RTCDataChannel;
  readonly #options: TestConnectionOptions;
  #counter = new PacketCounter();

  constructor(options: TestConnectionOptions) {
    this.#options = options;
    this.#peer = new RTCPeerConnection({
      iceServers: options.iceServers,
      iceTransportPolicy: options.isRelayed ? "relay" : "all",
    });
    this.#control = this.#peer.createDataChannel(connectionTest.controlChannel, { ordered: true });
    this.#packets = this.#peer.createDataChannel(connectionTest.packetChannel, {
      ordered: false,
      maxRetransmits: 0,
    });
    this.#packets.binaryType = "arraybuffer";
    this.#packets.addEventListener("message", ({ data }: MessageEvent<unknown>) => {
      if (data instanceof ArrayBuffer) this.#counter.add(data, performance.now());
    });
  }

  /**
   * Resolves once packets get through both ways. Throws PathBlocked after a timeout, and errors of
   * `sdpAnswer`.
   */
  async open(): Promise<void> {
    const { sdpAnswer, signal } = this.#options;
    const opened = Promise.all(
      [this.#control, this.#packets].map(
        (channel) => new Promise((resolve) => channel.addEventListener("open", resolve, { once: true })),
      ),
    );
    await this.#peer.setLocalDescription();
    const sdp = await sdpAnswer(this.#peer.localDescription?.sdp ?? "", signal);
    signal.throwIfAborted();
    await this.#peer.setRemoteDescription({ type: "answer", sdp });
    await this.#within(connectDeadlineMs, opened);
  }

  /** Counts lost packets and measures the round trip for two seconds. Throws PathBlocked. */
  async measureLoss(): Promise<{ loss: number; roundTripMs: number }> {
    const trips: number[] = [];
    const sentAt = new Map<number, number>();
    const over = new AbortController();
    this.#listen((notice) => {
      const at = notice.t === "ping" ? sentAt.get(notice.n) : undefined;
      if (at !== undefined) trips.push(performance.now() - at);
    }, over.signal);
    const ping = (): void => {
      const n = sentAt.size;
      sentAt.set(n, performance.now());
      this.#request({ t: "ping", n });
    };
    const timer = setInterval(ping, pingEveryMs);
    try {
      ping();
      const { counter, packets } = await this.#burst("loss", connectionTest.lossMs);
      return { loss: counter.loss(packets), roundTripMs: median(trips) };
    } finally {
      clearInterval(timer);
      over.abort();
    }
  }

  /** Measures the bandwidth from the server for three seconds. Throws PathBlocked. */
  async measureBandwidth(): Promise<{ bandwidthKbps: number; limitKbps: number }> {
    const { counter, limitKbps } = await this.#burst("bandwidth", connectionTest.bandwidthMs);
    return { bandwidthKbps: Math.round(counter.kbps()), limitKbps };
  }

  close(): void {
    this.#peer.close();
  }

  async #burst(
    burst: TestBurst,
    durationMs: number,
  ): Promise<{ counter: PacketCounter; packets: number; limitKbps: number }> {
    const counter = (this.#counter = new PacketCounter());
    const over = new AbortController();
    try {
      const sent = this.#sent(burst, over.signal);
      this.#request({ t: "send", burst });
      const { packets, limitKbps } = await this.#within(durationMs + patienceMs, sent);
      await new Promise((resolve) => setTimeout(resolve, stragglersMs));
      this.#options.signal.throwIfAborted();
      return { counter, packets, limitKbps };
    } finally {
      over.abort();
    }
  }

  /** Resolves with the responder's summary at the end of the burst. */
  #sent(burst: TestBurst, signal: AbortSignal): Promise<{ packets: number; limitKbps: number }> {
    return new Promise((resolve) =>
      this.#listen((notice) => {
        if (notice.t === "sent" && notice.burst === burst) resolve(notice);
      }, signal),
    );
  }

  #request(request: TestRequest): void {
    if (this.#control.readyState === "open") this.#control.send(JSON.stringify(request));
  }

  /** Calls `onNotice` with the responder's messages until the signal aborts. */
  #listen(onNotice: (notice: TestNotice) => void, signal: AbortSignal): void {
    this.#control.addEventListener(
      "message",
      ({ data }: MessageEvent<unknown>) => {
        const notice = typeof data === "string" ? TestNotice.safeParse(JSON.parse(data)).data : undefined;
        if (notice !== undefined) onNotice(notice);
      },
      { signal },
    );
  }

  /**
   * Returns the promise's value. Throws after `ms`, when the connection fails and when the test is cancelled.
   */
  #within<T>(ms: number, promise: Promise<T>): Promise<T> {
    const { signal } = this.#options;
    return new Promise((resolve, reject) => {
      signal.throwIfAborted(); // A listener would miss an earlier abort.
      const onState = (): void => {
        if (this.#peer.connectionState === "failed" || this.#peer.connectionState === "closed")
          end(new PathBlocked("The connection failed."));
      };
      const onAbort = (): void => end(new DOMException("The test was given up.", "AbortError"));
      const timer = setTimeout(() => end(new PathBlocked("Nothing came in time.")), ms);
      const end = (error?: Error): void => {
        clearTimeout(timer);
        this.#peer.removeEventListener("connectionstatechange", onState);
        signal.removeEventListener("abort", onAbort);
        if (error !== undefined) reject(error);
      };
      this.#peer.addEventListener("connectionstatechange", onState);
      signal.addEventListener("abort", onAbort);
      promise.then((value) => {
        end();
        resolve(value);
      }, end);
    });
  }
}

function median(values: readonly number[]): number {
  if (values.length === 0) throw new PathBlocked("No ping came back.");
  const sorted = values.toSorted((a, b) => a - b);
  return Math.round((sorted[Math.floor(sorted.length / 2)] ?? 0) * 10) / 10;
}
