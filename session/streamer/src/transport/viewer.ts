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
 * A browser reports about fifteen times a second. One that sends nothing for this long has left, whatever the
 * transport's state.
 */
const silenceMs = 4_000;
/**
 * The same for a browser that does not report packets: its other RTCP may be 7.5 seconds apart (RFC 3550,
 * section 6.2).
 */
const seldomHeardMs = 10_000;
const connectDeadlineMs = 10_000;
/** How long a disconnected connection may take to reconnect. */
const reconnectMs = 10_000;
/** Time for the last notice to leave before the connection closes. */
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
   * Called when input cannot arrive any more, or for now. Everything pressed must be released. The viewer
   * exists until `onClosed`.
   */
  onLost: () => void;
  onClosed: () => void;
}

/** The viewer and role that a ticket grants. */
export interface TicketHolder {
  viewer: string;
  role: ViewerRole;
}

/** A browser that watches, and also plays if its ticket says so. */
export interface Viewer {
  readonly id: string;
  readonly client: string | undefined;
  /** From its ticket. */
  readonly holder: TicketHolder;
  readonly codec: OfferedCodec;
  readonly rate: RateController;
  /**
   * Opens the connection and returns the SDP answer.
   *
   * @throws DomainError invalid_offer, or not_ready when the viewer was closed before it was answered because
   *   another replaced it.
   */
  open(): Promise<string>;
  /** Returns whether the browser is connected, or may be about to be. */
  isPresent(): boolean;
  /** Returns the round trip time in milliseconds; null until the data channel has measured it. */
  roundTripMs(): number | null;
  /** Changes the quality. */
  setQuality(quality: StreamQuality): void;
  sendVideo(packet: Buffer): void;
  sendAudio(packet: Buffer): void;
  notify(notice: StreamNotice): void;
  /** Closes immediately, or after sending the last notice. */
  close(lastNotice?: StreamNotice): void;
}

export function createViewer(options: ViewerOptions): Viewer {
  const { id, client, holder, codec, logger, clock } = options;
  // Keep a reference to the peer as long as it is needed: the transport closes connections that are garbage
  // collected.
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

  // The transport notices a lost network only after half a minute, too long to keep a key pressed. The
  // connection stays open because it may recover.
  const silence = createSilenceDetector({
    clock,
    afterMs: silenceMs,
    beforeStartMs: seldomHeardMs,
    onSilent: () => {
      logger.info({ viewer: id }, "A viewer fell silent. Its keys and buttons are released.");
      options.onLost();
    },
  });
  const requestKeyFrame = (): boolean => {
    if (video.isHeld()) return false; // It would be dropped, and another follows.
    if (clock.monotonicMs() - keyFrameRequestedAt < keyFrameGapMs) return false;
    keyFrameRequestedAt = clock.monotonicMs();
    options.onKeyFrameNeeded();
    return true;
  };
  const handleRtcp = (message: Buffer) => {
    silence.noteHeard();
    for (const event of readRtcp(Buffer.from(message))) {
      if (event.type === "keyFrameRequest") requestKeyFrame();
      if (event.type === "nack") video.resend(event.lost);
      if (event.type === "feedback") {
        silence.start(); // Before its first report, a browser may send RTCP only every few seconds.
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
      silence.noteHeard();
      if (!isClosed) options.onInput(message, notify);
    });
    channel.onClosed(options.onLost);
    if (channel.isOpen()) options.onChannelOpen();
    else channel.onOpen(options.onChannelOpen);
  };
  const handleState = (state: string) => {
    logger.info({ viewer: id, state }, streamerMessages.viewerConnectionChanged);
    reconnectTimer?.cancel();
    if (state === "disconnected") {
      options.onLost();
      reconnectTimer = clock.setTimer(reconnectMs, () => dispose());
    } else if (state === "failed" || state === "closed") {
      dispose();
    }
  };
  const notify = (notice: StreamNotice) => {
    try {
      if (channel) sendNotice(channel, notice);
    } catch (error) {
      logger.debug({ viewer: id, err: error }, "A notice could not be sent."); // The channel has closed; its event follows.
    }
  };
  const send = ({ track, header, reports }: OutgoingTrack, packet: Buffer, sequence: number) => {
    try {
      if (!track.isOpen()) return;
      const report = reports.countSent(packet);
      if (report) track.sendMessageBinary(report); // The transport distinguishes RTCP from RTP by type.
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
  const applyPlayoutDelay = () => {
    if (peer) peer.video.header.playoutDelayMs = playoutDelayMs(quality.preset);
  };
  const dispose = () => {
    video.close();
    silence.stop();
    reconnectTimer?.cancel();
    connectTimer.cancel();
    peer?.close();
    // The transport does not report the end of a channel that it closed before callbacks were set, and keeps
    // those callbacks as long as the channel is referenced.
    channel = undefined;
    if (isClosed) return;
    isClosed = true;
    options.onClosed();
  };
  const connectTimer = clock.setTimer(connectDeadlineMs, () => {
    if (peer?.connection.state() !== "connected") dispose();
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
      applyPlayoutDelay();
      peer.connection.onStateChange(handleState);
      peer.video.track.onMessage(handleRtcp);
      peer.video.track.onOpen(() => {
        keyFrameRequestedAt = clock.monotonicMs(); // Playing starts with a key frame.
        options.onMediaOpen();
      });
      return peer.sdpAnswer;
    },
    isPresent: () => !isClosed && !silence.isSilent(),
    roundTripMs: () => (channel?.isOpen() ? readRoundTripMs(peer) : null),
    setQuality(changed) {
      quality = changed;
      rate.setLimits({ minKbps, maxKbps: quality.maxKbps, fps: quality.fps });
      applyPlayoutDelay();
    },
    sendVideo(packet) {
      if (peer?.video.track.isOpen() !== true) return;
      peer.video.reports.noteEncoded(packet);
      video.push(packet);
    },
    sendAudio(packet) {
      if (!peer?.audio) return;
      peer.audio.reports.noteEncoded(packet);
      send(peer.audio, peer.audio.redundancy?.wrap(packet) ?? packet, 0);
    },
    notify,
    close(lastNotice) {
      if (!lastNotice) {
        dispose();
        return;
      }
      notify(lastNotice);
      isClosed = true; // Ignore further input.
      options.onClosed();
      clock.setTimer(lastNoticeMs, dispose);
    },
  };
}

/** The transport returns -1 or 0 until it has measured. */
function readRoundTripMs(peer: Peer | undefined): number | null {
  const measured = peer?.connection.rtt() ?? 0;
  return measured > 0 ? measured : null;
}
