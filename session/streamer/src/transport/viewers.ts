import type { Clock, Timer } from "#runtime/scheduling/clock.ts";
import { randomUUID } from "node:crypto";
import type { HelloNotice, StreamNotice } from "#contracts/stream.ts";
import type { VideoCodec } from "#contracts/videoCodec.ts";
import { streamerMessages } from "#contracts/termination.ts";
import type { QualityBounds, StreamQuality } from "#contracts/streamQuality.ts";
import type { z } from "zod";
import { DomainError, forbidden, invalidOffer, rejectedOffer, viewerActive } from "../errors.ts";
import type { InputRouter } from "../input/inputRouter.ts";
import type { Logger } from "#runtime/logger.ts";
import type { MediaSource } from "../media/mediaSource.ts";
import { createQualityControl } from "./qualityControl.ts";
import { parseOffer, type Offer, type OfferedCodec } from "./sdp.ts";
import { reservePort } from "./sharedPort.ts";
import type { RtcpEvent } from "../rtp/rtcp.ts";
import { createViewer, type TicketHolder, type Viewer } from "./viewer.ts";

/** Capture continues for this long without a viewer, so that it is still running after a reload. */
const idleAfterMs = 5_000;
const rateNoticeEveryMs = 2_000;
/** Minimum interval between notices that somebody plays. */
const inputNoticeEveryMs = 10_000;

export interface ViewersOptions {
  media: MediaSource;
  input: InputRouter;
  /** Codecs with a working encoder, best first. */
  codecs: readonly VideoCodec[];
  /** Addresses where browsers reach the port, most likely first. */
  addresses: readonly string[];
  udpPort: number;
  startKbps: number;
  bounds: QualityBounds;
  /** Initial quality, until a player changes it. */
  quality: StreamQuality;
  logger: Logger;
  clock: Pick<Clock, "monotonicMs" | "setTimer">;
  /** Returns whether the game hides its pointer. */
  isPointerHidden: () => boolean;
  /** Returns the first notice to a viewer. */
  describeStream: (codec: VideoCodec, quality: StreamQuality) => z.infer<typeof HelloNotice>;
}

export interface ViewRequest {
  sdp: string;
  holder: TicketHolder;
  client: string | undefined;
  takeover: boolean;
}

/** Counts since the start of the streamer. */
export interface ViewersTotals {
  connections: number;
  videoPackets: number;
  videoBytes: number;
  frames: number;
  keyFrameRequests: number;
  nacks: number;
  /** Monotonic time of the first frame; undefined before. */
  firstFrameMs?: number;
}

/** Initial counts. */
export const noTotals: ViewersTotals = {
  connections: 0,
  videoPackets: 0,
  videoBytes: 0,
  frames: 0,
  keyFrameRequests: 0,
  nacks: 0,
};

/** The viewers of a session: at most one browser at a time. */
export interface Viewers {
  /**
   * Answers an offer.
   *
   * @throws DomainError invalid_offer, viewer_active when another browser plays, or not_ready when another
   *   viewer took over before the answer.
   */
  connect(request: ViewRequest): Promise<{ id: string; sdpAnswer: string }>;
  /**
   * Closes a connection. Returns false if it does not exist.
   *
   * @throws DomainError forbidden for another viewer's connection, or if a viewer who only watches ends the
   *   player's.
   */
  disconnect(id: string, holder: TicketHolder): boolean;
  current(): Viewer | undefined;
  totals(): ViewersTotals;
  notify(notice: StreamNotice): void;
  /** Notifies the viewer unless it only watches. */
  notifyPlayer(notice: StreamNotice): void;
  close(): void;
}

export function createViewers(options: ViewersOptions): Viewers {
  const { media, input, codecs, logger } = options;
  const totals: ViewersTotals = { ...noTotals };
  let current: Viewer | undefined;
  let idleTimer: Timer | undefined;
  const releasePort = reservePort(options.udpPort);

  const inputNotices = createInputNotices(options);
  const rateNotices = setInterval(() => {
    current?.notify(describeRate(current));
    if (current && inputNotices.isDue()) current.notify({ t: "input" });
  }, rateNoticeEveryMs);

  const quality = createQualityControl({
    bounds: options.bounds,
    initial: options.quality,
    clock: options.clock,
    apply: async (wanted) => {
      const isApplied = await media.reshape(wanted);
      if (isApplied) current?.setQuality(wanted);
      return isApplied;
    },
    onSettled: (held) => {
      logger.info({ quality: held }, "The picture quality was requested.");
      current?.notify(describeQuality(held, options.bounds));
    },
  });
  const countRtcp = (event: RtcpEvent) => {
    if (event.type === "keyFrameRequest") totals.keyFrameRequests++;
    if (event.type === "nack") totals.nacks++;
  };
  const removeViewer = (viewer: Viewer) => {
    if (viewer !== current) return;
    current = undefined;
    input.releaseAll();
    idleTimer?.cancel();
    idleTimer = options.clock.setTimer(idleAfterMs, () => media.stopPlaying());
  };
  const replaceCurrentFor = ({ client, takeover, holder }: ViewRequest) => {
    const old = current;
    if (!old) return;
    const canReplace = canEnd(holder, old.holder);
    const isSameTab = canReplace && client !== undefined && client === old.client;
    // A player's browser may return after a silence. One that only watches must wait until the connection has
    // ended.
    if (!isSameTab && !(canReplace && (takeover || !old.isPresent()))) throw viewerActive(canReplace);
    old.close(isSameTab ? undefined : { t: "taken-over" });
  };
  const play = (viewer: Viewer) => {
    media.play(viewer.codec.codec, viewer.rate.state().targetKbps, {
      onVideo(packets) {
        totals.frames++;
        totals.firstFrameMs ??= options.clock.monotonicMs();
        for (const packet of packets) {
          totals.videoPackets++;
          totals.videoBytes += packet.length;
          viewer.sendVideo(packet);
        }
      },
      onAudio: (packet) => viewer.sendAudio(packet),
    });
  };
  const buildViewer = (offer: Offer, codec: OfferedCodec, { client, holder }: ViewRequest): Viewer => {
    const isCurrent = () => viewer === current;
    const handleInput: InputRouter["handle"] = (...args) =>
      holder.role === "play" ? input.handle(...args) : input.handleWatching(...args);
    const viewer: Viewer = createViewer({
      id: randomUUID(),
      client,
      holder,
      offer,
      codec,
      logger,
      clock: options.clock,
      addresses: options.addresses,
      udpPort: options.udpPort,
      quality: quality.current(),
      startKbps: options.startKbps,
      onInput: (message, reply) =>
        isCurrent() &&
        handleInput(message, {
          pong: (n) => reply({ t: "pong", n }),
          quality: (wish) => quality.request(wish),
          released: () => reply({ t: "released" }),
        }),
      onRtcp: countRtcp,
      onMediaOpen: () => isCurrent() && play(viewer),
      onKeyFrameNeeded: () => isCurrent() && media.requestKeyFrame(),
      onRate: (kbps) => isCurrent() && media.setBitrate(kbps),
      onChannelOpen: () => {
        viewer.notify(options.describeStream(codec.codec, quality.current()));
        viewer.notify(describeQuality(quality.current(), options.bounds));
        viewer.notify({ t: "pointer", hidden: options.isPointerHidden() });
      },
      onLost: () => {
        if (!isCurrent()) return;
        input.releaseAll();
        viewer.notify({ t: "released" });
      },
      onClosed: () => removeViewer(viewer),
    });
    return viewer;
  };

  return {
    async connect(request) {
      const offer = parseOffer(request.sdp);
      const codec = chooseCodec(offer, codecs);
      replaceCurrentFor(request);
      const viewer = buildViewer(offer, codec, request);
      current = viewer;
      totals.connections++;
      idleTimer?.cancel();
      media.prepare(codec.codec); // Playing starts once connected: the handshake needs the processor.
      try {
        const sdpAnswer = await viewer.open();
        logger.info(
          { viewer: viewer.id, role: request.holder.role, codec: codec.codec, takeover: request.takeover },
          streamerMessages.viewerAnswered,
        );
        return { id: viewer.id, sdpAnswer };
      } catch (error) {
        viewer.close();
        throw error instanceof DomainError ? error : rejectedOffer(error);
      }
    },
    disconnect(id, holder) {
      if (current?.id !== id) return false;
      if (holder.viewer !== current.holder.viewer || !canEnd(holder, current.holder))
        throw forbidden("This connection is another viewer's.");
      current.close();
      return true;
    },
    current: () => current,
    totals: () => ({ ...totals }),
    notify: (notice) => current?.notify(notice),
    notifyPlayer(notice) {
      if (current?.holder.role === "play") current.notify(notice);
    },
    close() {
      clearInterval(rateNotices);
      quality.close();
      current?.close();
      idleTimer?.cancel(); // Set by closing the viewer.
      releasePort();
    },
  };
}

/** A browser that only watches can neither replace nor end the one that plays. */
function canEnd(holder: TicketHolder, old: TicketHolder): boolean {
  return holder.role === "play" || old.role === "watch";
}

function chooseCodec(offer: Offer, codecs: readonly VideoCodec[]): OfferedCodec {
  for (const codec of codecs) {
    const offered = offer.video.codecs.find((candidate) => candidate.codec === codec);
    if (offered) return offered;
  }
  throw invalidOffer(`The offer's video has none of ${codecs.join(", ")} in a supported format.`);
}

function describeQuality(
  { preset, width, height, fps, maxKbps }: StreamQuality,
  bounds: QualityBounds,
): StreamNotice {
  const maximum = { width: bounds.width, height: bounds.height, fps: bounds.maxFps, maxKbps: bounds.maxKbps };
  return { t: "quality", preset, width, height, fps, maxKbps, maximum };
}

function describeRate({ rate }: Viewer): StreamNotice {
  const { targetKbps, queueMs, loss } = rate.state();
  return { t: "rate", targetKbps, queueMs: Math.round(queueMs), loss: Math.round(loss * 1_000) / 1_000 };
}

/** Decides when the viewer is told that somebody plays. */
function createInputNotices({ input, clock }: Pick<ViewersOptions, "input" | "clock">): {
  isDue: () => boolean;
} {
  let toldInputAt: number | null = null;
  let toldAtMs = -Infinity;
  return {
    isDue() {
      const { lastInputAt } = input.state();
      if (lastInputAt === toldInputAt || clock.monotonicMs() - toldAtMs < inputNoticeEveryMs) return false;
      toldInputAt = lastInputAt;
      toldAtMs = clock.monotonicMs();
      return true;
    },
  };
}
