import { connectionTest, TestNotice, type TestBurst, type TestRequest } from "#contracts/connectionTest.ts";
import { PacketCounter } from "./packetCounter.ts";

const connectDeadlineMs = 6_000;
const pingEveryMs = 50;
/** Packets that were sent before the burst's end was told may come after that. */
const stragglersMs = 300;
/** After a burst's own time its end has to have come. */
const patienceMs = 1_500;

export interface TestConnectionOptions {
  /** Returns a responder's SDP answer to the offer. */
  sdpAnswer: (sdp: string, signal: AbortSignal) => Promise<string>;
  iceServers: RTCIceServer[];
  /** Whether only relays may be used. */
  isRelayed: boolean;
  signal: AbortSignal;
}

/** Packets did not get through to the server, or stopped to. */
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
   * Resolves once packets go both ways. Throws PathBlocked when they do not in time, and what `sdpAnswer`
   * throws.
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

  /**
   * Counts lost packets and measures the round trip at the same time, for two seconds. Throws PathBlocked.
   */
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

  /** Measures for three seconds what the way carries from the server. Throws PathBlocked. */
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

  /** Resolves with what the responder tells at the burst's end. */
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

  /** Calls `onNotice` with what the responder tells, until the signal aborts. */
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

  /** The promise's value, if it comes in time and before the connection fails or the test is given up. */
  #within<T>(ms: number, promise: Promise<T>): Promise<T> {
    const { signal } = this.#options;
    return new Promise((resolve, reject) => {
      signal.throwIfAborted(); // A listener hears nothing of what has been.
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
