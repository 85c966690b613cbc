import { StreamNotice, whep, type StreamInput } from "#contracts/stream.ts";
import { preferredCodecs } from "./codecPreference.ts";
import { Emitter } from "./emitter.ts";
import { InputSender } from "./inputSender.ts";
import { deleteResource, postOffer } from "./whep.ts";

const connectTimeoutMs = 15_000;
/** A connection that reports `disconnected` often comes back by itself; after this it is given up. */
const disconnectGraceMs = 4_000;

export interface StreamConnectionEvents {
  /** The streamer has answered: pictures may come from now on. */
  answered: undefined;
  notice: StreamNotice;
  /** The connection is over, and no other event follows. */
  lost: undefined;
}

export interface StreamConnectionOptions {
  containerUrl: string;
  clientId: string;
  takeover: boolean;
  signal: AbortSignal;
}

/** One peer connection to the streamer, from offer to end; never reused. */
export class StreamConnection extends Emitter<StreamConnectionEvents> {
  readonly media = new MediaStream();
  readonly #peer = new RTCPeerConnection({ bundlePolicy: "max-bundle" });
  readonly #channel = this.#peer.createDataChannel(whep.dataChannel, { ordered: true });
  readonly #sender = new InputSender(this.#channel);
  #offer: Promise<string> | undefined;
  #resourceUrl: string | null = null;
  #graceTimer: ReturnType<typeof setTimeout> | undefined;
  #isOver = false;

  /** Makes the offer, so that opening takes less time later; opening does it where it was not done before. */
  async prepare(): Promise<void> {
    await (this.#offer ??= this.#makeOffer());
  }

  /** Resolves once media and input flow. Throws StreamRefused, or an Error when the connection cannot be made. */
  async open({ signal, ...options }: StreamConnectionOptions): Promise<void> {
    try {
      const sdp = await (this.#offer ??= this.#makeOffer());
      const answer = await postOffer({ ...options, sdp, signal });
      this.#resourceUrl = answer.resourceUrl;
      signal.throwIfAborted();
      await this.#peer.setRemoteDescription({ type: "answer", sdp: answer.sdp });
      this.emit("answered", undefined);
      await this.#opened(signal);
    } catch (error) {
      this.close();
      throw error;
    }
  }

  send(message: StreamInput): void {
    this.#sender.send(message);
  }

  report(): Promise<RTCStatsReport> {
    return this.#peer.getStats();
  }

  /** Hangs up. */
  close(): void {
    this.#isOver = true;
    clearTimeout(this.#graceTimer);
    this.#peer.close();
    if (this.#resourceUrl !== null) deleteResource(this.#resourceUrl);
    this.#resourceUrl = null;
  }

  #receive(kind: "audio" | "video"): void {
    const transceiver = this.#peer.addTransceiver(kind, { direction: "recvonly" });
    const { receiver } = transceiver;
    // Show each frame as soon as it is there; browsers that do not know this ignore it.
    Object.assign(receiver, { jitterBufferTarget: 0, playoutDelayHint: 0 });
    this.media.addTrack(receiver.track);
    if (kind !== "video") return;
    const codecs = preferredCodecs(RTCRtpReceiver.getCapabilities("video")?.codecs ?? []);
    if (codecs.length > 0) transceiver.setCodecPreferences(codecs);
  }

  #listen(): void {
    this.#peer.addEventListener("connectionstatechange", () => this.#onConnectionState());
    this.#channel.addEventListener("close", () => this.#lose());
    this.#channel.addEventListener("message", ({ data }: MessageEvent<unknown>) => {
      const notice = readNotice(data);
      if (notice !== undefined && !this.#isOver) this.emit("notice", notice);
    });
  }

  #onConnectionState(): void {
    clearTimeout(this.#graceTimer);
    const { connectionState } = this.#peer;
    if (connectionState === "failed") this.#lose();
    if (connectionState === "disconnected") this.#graceTimer = setTimeout(() => this.#lose(), disconnectGraceMs);
  }

  #lose(): void {
    if (this.#isOver) return;
    this.close();
    this.emit("lost", undefined);
  }

  /**
   * The browser's own candidates are not waited for: the streamer names the address it listens on, and learns ours from the
   * browser's first check.
   */
  async #makeOffer(): Promise<string> {
    this.#receive("video");
    this.#receive("audio");
    this.#listen();
    await this.#peer.setLocalDescription(await this.#peer.createOffer());
    const sdp = this.#peer.localDescription?.sdp;
    if (sdp === undefined) throw new Error("The browser made no offer.");
    return sdp;
  }

  #opened(signal: AbortSignal): Promise<void> {
    if (this.#channel.readyState === "open") return Promise.resolve();
    return new Promise((resolve, reject) => {
      const deadline = AbortSignal.any([signal, AbortSignal.timeout(connectTimeoutMs)]);
      const fail = (): void => reject(new Error("No connection to the game's server could be made."));
      deadline.addEventListener("abort", fail, { once: true });
      this.#channel.addEventListener("open", () => resolve(), { once: true });
      this.on("lost", fail);
    });
  }
}

function readNotice(data: unknown): StreamNotice | undefined {
  try {
    return typeof data === "string" ? StreamNotice.safeParse(JSON.parse(data)).data : undefined;
  } catch {
    return undefined; // A message of a newer streamer: unknown ones are ignored.
  }
}
