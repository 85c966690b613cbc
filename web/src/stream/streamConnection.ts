import { StreamNotice, whep, type StreamInput } from "#contracts/stream.ts";
import { joinSignals } from "../client/browser.ts";
import { readServiceStatus } from "../client/service.ts";
import { preferredCodecs } from "./codecPreference.ts";
import { Emitter } from "./emitter.ts";
import type { IceServers } from "./iceServers.ts";
import { InputSender } from "./inputSender.ts";
import { countReceived, watchSilence } from "./silenceWatch.ts";
import { withStereo } from "./stereoOffer.ts";
import { deleteResource, postOffer } from "./whep.ts";

const connectTimeoutMs = 15_000;
const peerConfiguration: RTCConfiguration = { bundlePolicy: "max-bundle" };
/** A `disconnected` connection often recovers; after this time it counts as lost. */
const disconnectGraceMs = 4_000;
const reachableTimeoutMs = 1_000;

export interface StreamConnectionEvents {
  /** The streamer has answered: pictures may arrive from now on. */
  answered: undefined;
  notice: StreamNotice;
  /**
   * The connection has ended; no other event follows. With `isReachable` the network works, and a new
   * connection can be made at once.
   */
  lost: { isReachable: boolean };
}

export interface StreamConnectionOptions {
  containerUrl: string;
  clientId: string;
  takeover: boolean;
  signal: AbortSignal;
}

/** The streamer answered, but no packet from it arrived. */
export class NoPath extends Error {
  override readonly name = "NoPath";
}

/** One peer connection to the streamer, from offer to end. It is never reused. */
export class StreamConnection extends Emitter<StreamConnectionEvents> {
  readonly media = new MediaStream();
  readonly #iceServers: Pick<IceServers, "current">;
  readonly #peer = new RTCPeerConnection(peerConfiguration);
  readonly #channel = this.#peer.createDataChannel(whep.dataChannel, { ordered: true });
  readonly #sender = new InputSender(this.#channel);
  #offer: Promise<string> | undefined;
  #resourceUrl: string | null = null;
  #graceTimer: ReturnType<typeof setTimeout> | undefined;
  #stopWatching: (() => void) | undefined;
  #hasEnded = false;

  constructor(iceServers: Pick<IceServers, "current">) {
    super();
    this.#iceServers = iceServers;
  }

  /** The id that the streamer gave the connection; undefined before its answer and after the end. */
  get id(): string | undefined {
    return this.#resourceUrl === null ? undefined : new URL(this.#resourceUrl).pathname.split("/").at(-1);
  }

  /** Makes the offer in advance, to make `open` faster. */
  async prepare(): Promise<void> {
    await (this.#offer ??= this.#makeOffer());
  }

  /**
   * Resolves once media and input flow. Throws WhepError, NoPath, or an Error when the browser cannot do it.
   */
  async open({ signal, ...options }: StreamConnectionOptions): Promise<void> {
    try {
      const sdp = await (this.#offer ??= this.#makeOffer());
      const sdpAnswer = await postOffer({ ...options, sdp, signal });
      this.#resourceUrl = sdpAnswer.resourceUrl;
      signal.throwIfAborted();
      await this.#peer.setRemoteDescription({ type: "answer", sdp: sdpAnswer.sdp });
      this.emit("answered", undefined);
      await this.#opened(signal);
      this.#stopWatching = watchSilence({
        received: async () => countReceived(await this.#peer.getStats()),
        isReachable: () =>
          readServiceStatus(AbortSignal.timeout(reachableTimeoutMs)).then(
            () => true,
            () => false,
          ),
        onOneWay: () => this.#lose({ isReachable: true }),
      });
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

  /** Ends the connection here and at the streamer. */
  close(): void {
    this.#hasEnded = true;
    clearTimeout(this.#graceTimer);
    this.#stopWatching?.();
    this.#peer.close();
    if (this.#resourceUrl !== null) deleteResource(this.#resourceUrl);
    this.#resourceUrl = null;
  }

  #receive(kind: "audio" | "video"): void {
    const transceiver = this.#peer.addTransceiver(kind, { direction: "recvonly" });
    const { receiver } = transceiver;
    // Frames are to be shown without delay; browsers without these properties ignore them.
    Object.assign(receiver, { jitterBufferTarget: 0, playoutDelayHint: 0 });
    this.media.addTrack(receiver.track);
    // Without these, as in Firefox before 128, the browser offers all it has, of which the streamer takes the
    // best by its own order.
    if (kind !== "video" || !("getCapabilities" in RTCRtpReceiver) || !("setCodecPreferences" in transceiver))
      return;
    const codecs = preferredCodecs(RTCRtpReceiver.getCapabilities("video")?.codecs ?? []);
    if (codecs.length > 0) transceiver.setCodecPreferences(codecs);
  }

  #listen(): void {
    this.#peer.addEventListener("connectionstatechange", () => this.#onConnectionState());
    this.#channel.addEventListener("close", () => this.#lose());
    this.#channel.addEventListener("message", ({ data }: MessageEvent<unknown>) => {
      const notice = readNotice(data);
      if (notice !== undefined && !this.#hasEnded) this.emit("notice", notice);
    });
  }

  #onConnectionState(): void {
    clearTimeout(this.#graceTimer);
    const { connectionState } = this.#peer;
    if (connectionState === "failed") this.#lose();
    if (connectionState === "disconnected")
      this.#graceTimer = setTimeout(() => this.#lose(), disconnectGraceMs);
  }

  #lose({ isReachable } = { isReachable: false }): void {
    if (this.#hasEnded) return;
    this.close();
    this.emit("lost", { isReachable });
  }

  /**
   * Makes the offer without waiting for the browser's own candidates: the streamer names the addresses it
   * listens on, and learns the browser's, or its relay's, from its first connectivity check.
   */
  async #makeOffer(): Promise<string> {
    this.#receive("video");
    this.#receive("audio");
    this.#listen();
    const iceServers = await this.#iceServers.current();
    if (iceServers.length > 0) this.#peer.setConfiguration({ ...peerConfiguration, iceServers });
    const { type, sdp: offered = "" } = await this.#peer.createOffer();
    await this.#peer.setLocalDescription({ type, sdp: withStereo(offered) });
    const sdp = this.#peer.localDescription?.sdp;
    if (sdp === undefined) throw new Error("The browser made no offer.");
    return sdp;
  }

  #opened(signal: AbortSignal): Promise<void> {
    if (this.#channel.readyState === "open") return Promise.resolve();
    return new Promise((resolve, reject) => {
      const deadline = joinSignals(signal, AbortSignal.timeout(connectTimeoutMs));
      const fail = (): void => reject(new NoPath());
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
    return undefined; // Unknown messages of newer streamers are ignored.
  }
}
