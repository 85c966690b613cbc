import type { DataChannel } from "node-datachannel";
import type { Clock, Timer } from "#runtime/scheduling/clock.ts";
import { whep, type StreamNotice } from "#contracts/stream.ts";
import type { ViewerRole } from "#contracts/viewerRole.ts";
import { streamerMessages } from "#contracts/termination.ts";
import type { StreamQuality } from "#contracts/streamQuality.ts";
import { playoutDelayMs } from "../media/encoders.ts";
import type { Logger } from "#runtime/logger.ts";
import type { OfferedCodec } from "./sdp.ts";
import { notReady } from "../errors.ts";
import { sendNotice } from "./notices.ts";
import { openPeer, type OutgoingTrack, type Peer, type PeerOptions } from "./peer.ts";
import { createRateController, type RateController } from "./rateController.ts";
import { createSilenceDetector } from "./silenceDetector.ts";
import { createVideoSender, keyFrameGapMs } from "./videoSender.ts";
import { readRtcp, type RtcpEvent } from "../rtp/rtcp.ts";
import { rewritePacket } from "../rtp/rtpPacket.ts";

const minKbps = 300;
/**
 * A browser reports about fifteen times a second. A browser that sends nothing for this long has left,
 * whatever the transport's state is.
 */
const silenceMs = 4_000;
/**
 * The same for one that does not report of packets: other RTCP may be seven and a half seconds apart (RFC
 * 3550, section 6.2).
 */
const seldomHeardMs = 10_000;
const connectDeadlineMs = 10_000;
/** A disconnected connection gets this long to connect again. */
const reconnectMs = 10_000;
/** The last notice leaves within this time; then the connection closes. */
const lastNoticeMs = 500;

export interface ViewerOptions extends PeerOptions {
  clock: Pick<Clock, "monotonicMs" | "setTimer">;
  client: string | undefined;
  holder: TicketHolder;
  startKbps: number;
  quality: StreamQuality;
  logger: Logger;
  onInput: (message: string | Buffer | ArrayBuffer, reply: (notice: StreamNotice) => void) => void;
  onRtcp: (event: RtcpEvent) => void;
  /** Called when video can be sent. */
  onMediaOpen: () => void;
  onKeyFrameNeeded: () => void;
  onRate: (kbps: number) => void;
  onChannelOpen: () => void;
  /**
   * Called when the player's input cannot arrive any more, or for now: whatever is pressed must be released.
   * The viewer stays until `onClosed`.
   */
  onLost: () => void;
  onClosed: () => void;
}

/** Whom a ticket admits, and to what. */
export interface TicketHolder {
  viewer: string;
  role: ViewerRole;
}

/** One browser that watches. It also plays if its ticket says so. */
export interface Viewer {
  readonly id: string;
  readonly client: string | undefined;
  /** By its ticket. */
  readonly holder: TicketHolder;
  readonly codec: OfferedCodec;
  readonly rate: RateController;
  /**
   * Opens the connection; returns the SDP answer. Throws InvalidOffer, and NotReady when the viewer was
   * closed meanwhile, as another took its place.
   */
  open(): Promise<string>;
  /** Whether the browser plays, or may be about to. */
  isPresent(): boolean;
  /** Milliseconds between browser and streamer; null until the data channel has measured it. */
  roundTripMs(): number | null;
  /** Keeps to another quality from now on. */
  setQuality(quality: StreamQuality): void;
  sendVideo(packet: Buffer): void;
  sendAudio(packet: Buffer): void;
  notify(notice: StreamNotice): void;
  /** Closes at once, or, with a notice, once that has left. */
  close(lastNotice?: StreamNotice): void;
}

export function createViewer(options: ViewerOptions): Viewer {
  const { id, client, holder, codec, logger, clock } = options;
  // The peer is referenced for as long as it is needed: the transport closes what is garbage collected.
  let peer: Peer | undefined;
  let channel: DataChannel | undefined;
  let keyFrameRequestedAt = -Infinity;
  let isClosed = false;
  let reconnectTimer: Timer | undefined;
  let { quality } = options;
  const rate = createRateController({
    startKbps: options.startKbps,
    minKbps,
    maxKbps: options.quality.maxKbps,
    fps: options.quality.fps,
    clock,
    onRate: options.onRate,
    onOverrun: (ms) => video.hold(ms),
  });

  // The transport notices after half a minute that the network is gone; a key must not be held for so long.
  // The connection stays, for it may recover.
  const silence = createSilenceDetector({
    clock,
    afterMs: silenceMs,
    beforeStartMs: seldomHeardMs,
    onSilent: () => {
      logger.info({ viewer: id }, "A viewer fell silent; what it held is released.");
      options.onLost();
    },
  });
  const requestKeyFrame = (): boolean => {
    if (video.isHeld()) return false; // It would not be sent, and one follows.
    if (clock.monotonicMs() - keyFrameRequestedAt < keyFrameGapMs) return false;
    keyFrameRequestedAt = clock.monotonicMs();
    options.onKeyFrameNeeded();
    return true;
  };
  const handleRtcp = (message: Buffer) => {
    silence.heard();
    for (const event of readRtcp(Buffer.from(message))) {
      if (event.type === "keyFrameRequest") requestKeyFrame();
      if (event.type === "nack") video.resend(event.lost);
      if (event.type === "feedback") {
        silence.start(); // Until it reports of packets it may send other RTCP every few seconds only.
        rate.feedback(event.feedback);
      }
      options.onRtcp(event);
    }
  };
  const acceptChannel = (offered: DataChannel) => {
    if (channel || offered.getLabel() !== whep.dataChannel) {
      offered.close();
      return;
    }
    channel = offered;
    channel.onMessage((message) => {
      silence.heard();
      if (!isClosed) options.onInput(message, notify);
    });
    channel.onClosed(options.onLost);
    if (channel.isOpen()) options.onChannelOpen();
    else channel.onOpen(options.onChannelOpen);
  };
  const followState = (state: string) => {
    logger.info({ viewer: id, state }, streamerMessages.viewerConnectionChanged);
    reconnectTimer?.cancel();
    if (state === "disconnected") {
      options.onLost();
      reconnectTimer = clock.setTimer(reconnectMs, () => finish());
    } else if (state === "failed" || state === "closed") {
      finish();
    }
  };
  const notify = (notice: StreamNotice) => {
    try {
      if (channel) sendNotice(channel, notice);
    } catch (error) {
      logger.debug({ viewer: id, err: error }, "A notice could not be sent."); // The channel closed in between; its own event follows.
    }
  };
  const send = ({ track, header, reports }: OutgoingTrack, packet: Buffer, sequence: number) => {
    try {
      if (!track.isOpen()) return;
      const report = reports.sent(packet);
      if (report) track.sendMessageBinary(report); // The transport tells RTCP from RTP by its type.
      track.sendMessageBinary(rewritePacket(packet, header, sequence));
    } catch (error) {
      logger.debug({ viewer: id, err: error }, "A packet could not be sent.");
    }
  };
  const video = createVideoSender({
    clock,
    rate,
    requestKeyFrame,
    send: (packet, sequence) => {
      if (peer) send(peer.video, packet, sequence);
    },
  });
  const delayPlayout = () => {
    if (peer) peer.video.header.playoutDelayMs = playoutDelayMs(quality.preset);
  };
  const finish = () => {
    video.close();
    silence.stop();
    reconnectTimer?.cancel();
    connectTimer.cancel();
    peer?.close();
    // The transport does not tell of the end of a channel that it closed before callbacks were set, and holds
    // these for as long as the channel is referenced.
    channel = undefined;
    if (isClosed) return;
    isClosed = true;
    options.onClosed();
  };
  const connectTimer = clock.setTimer(connectDeadlineMs, () => {
    if (peer?.connection.state() !== "connected") finish();
  });

  return {
    id,
    client,
    holder,
    codec,
    rate,
    async open() {
      const opened = await openPeer(options, acceptChannel);
      if (isClosed) {
        opened.close();
        throw notReady();
      }
      peer = opened;
      delayPlayout();
      peer.connection.onStateChange(followState);
      peer.video.track.onMessage(handleRtcp);
      peer.video.track.onOpen(() => {
        keyFrameRequestedAt = clock.monotonicMs(); // Playing begins with a key frame.
        options.onMediaOpen();
      });
      return peer.sdpAnswer;
    },
    isPresent: () => !isClosed && !silence.isSilent(),
    roundTripMs: () => (channel?.isOpen() ? measuredRoundTripMs(peer) : null),
    setQuality(changed) {
      quality = changed;
      rate.setLimits({ minKbps, maxKbps: quality.maxKbps, fps: quality.fps });
      delayPlayout();
    },
    sendVideo(packet) {
      if (peer?.video.track.isOpen() !== true) return;
      peer.video.reports.came(packet);
      video.push(packet);
    },
    sendAudio(packet) {
      if (!peer?.audio) return;
      peer.audio.reports.came(packet);
      send(peer.audio, peer.audio.redundancy?.wrap(packet) ?? packet, 0);
    },
    notify,
    close(lastNotice) {
      if (!lastNotice) {
        finish();
        return;
      }
      notify(lastNotice);
      isClosed = true; // Its input no longer counts.
      options.onClosed();
      clock.setTimer(lastNoticeMs, finish);
    },
  };
}

/** The transport says -1, or 0, before it has measured. */
function measuredRoundTripMs(peer: Peer | undefined): number | null {
  const measured = peer?.connection.rtt() ?? 0;
  return measured > 0 ? measured : null;
}
