import { randomUUID } from "node:crypto";
import type { HelloNotice, StreamNotice, VideoCodec } from "#contracts/stream.ts";
import type { z } from "zod";
import { InvalidOffer, ViewerActive, WhepRefusal } from "../errors.ts";
import type { InputRouter } from "../input/inputRouter.ts";
import type { Logger } from "#runtime/logger.ts";
import type { MediaSource } from "../media/mediaSource.ts";
import { parseOffer, type Offer, type OfferedCodec } from "./offer.ts";
import { holdPort } from "./peer.ts";
import type { RtcpEvent } from "./rtcp.ts";
import { createViewer, type Viewer } from "./viewer.ts";

/** Capture goes on this long without a viewer, so that a reload finds it running. */
const lingerMs = 5_000;
const rateNoticeEveryMs = 2_000;

export interface ViewersOptions {
  media: MediaSource;
  input: InputRouter;
  /** Codecs with a working encoder, best first. */
  codecs: readonly VideoCodec[];
  address: string;
  udpPort: number;
  startKbps: number;
  maxKbps: number;
  log: Logger;
  now: () => number;
  /** The first notice a viewer gets. */
  describeStream: (codec: VideoCodec) => z.infer<typeof HelloNotice>;
}

export interface ViewRequest {
  sdp: string;
  client: string | undefined;
  takeover: boolean;
}

/** Counts since the start. */
export interface ViewersTotals {
  connections: number;
  videoPackets: number;
  videoBytes: number;
  frames: number;
  keyFrameRequests: number;
  nacks: number;
}

/** Who watches: at most one browser at a time. */
export interface Viewers {
  /** Answers an offer. Throws InvalidOffer, or ViewerActive when another browser plays. */
  admit(request: ViewRequest): Promise<{ id: string; answer: string }>;
  /** Hangs up on this viewer; false when it is not there. */
  dismiss(id: string): boolean;
  current(): Viewer | undefined;
  totals(): ViewersTotals;
  notify(notice: StreamNotice): void;
  close(): void;
}

export function createViewers(options: ViewersOptions): Viewers {
  const { media, input, codecs, log } = options;
  const totals: ViewersTotals = { connections: 0, videoPackets: 0, videoBytes: 0, frames: 0, keyFrameRequests: 0, nacks: 0 };
  let current: Viewer | undefined;
  let parting: NodeJS.Timeout | undefined;
  const releasePort = holdPort(options.udpPort);

  const rateNotices = setInterval(() => current?.notify(describeRate(current)), rateNoticeEveryMs);

  const countRtcp = (event: RtcpEvent) => {
    if (event.type === "keyFrameWanted") totals.keyFrameRequests++;
    if (event.type === "nack") totals.nacks++;
  };
  const leave = (viewer: Viewer) => {
    if (viewer !== current) return;
    current = undefined;
    input.releaseAll();
    clearTimeout(parting);
    parting = setTimeout(() => media.rest(), lingerMs);
  };
  const makeRoomFor = ({ client, takeover }: ViewRequest) => {
    const old = current;
    if (!old) return;
    const isSameTab = client !== undefined && client === old.client;
    if (!isSameTab && !takeover && old.isPresent()) throw new ViewerActive();
    old.close(isSameTab ? undefined : { t: "taken-over" });
  };
  const play = (viewer: Viewer) => {
    media.play(viewer.codec.codec, options.startKbps, {
      onVideo(packets) {
        totals.frames++;
        for (const packet of packets) {
          totals.videoPackets++;
          totals.videoBytes += packet.length;
          viewer.sendVideo(packet);
        }
      },
      onAudio: (packet) => viewer.sendAudio(packet),
    });
  };
  const buildViewer = (offer: Offer, codec: OfferedCodec, { client }: ViewRequest): Viewer => {
    const isCurrent = () => viewer === current;
    const viewer: Viewer = createViewer({
      id: randomUUID(), client, offer, codec, log, now: options.now,
      address: options.address, udpPort: options.udpPort, startKbps: options.startKbps, maxKbps: options.maxKbps,
      onInput: (message, reply) => isCurrent() && input.handle(message, (n) => reply({ t: "pong", n })),
      onRtcp: countRtcp,
      onMediaOpen: () => isCurrent() && play(viewer),
      onKeyFrameWanted: () => isCurrent() && media.requestKeyFrame(),
      onRate: (kbps) => isCurrent() && media.setBitrate(kbps),
      onChannelOpen: () => viewer.notify(options.describeStream(codec.codec)),
      onLost: () => isCurrent() && input.releaseAll(),
      onClosed: () => leave(viewer),
    });
    return viewer;
  };

  return {
    async admit(request) {
      const offer = parseOffer(request.sdp);
      const codec = chooseCodec(offer, codecs);
      makeRoomFor(request);
      const viewer = buildViewer(offer, codec, request);
      current = viewer;
      totals.connections++;
      clearTimeout(parting);
      media.prepare(codec.codec); // playing begins with the connection: until then the processor is the handshake's
      try {
        const answer = await viewer.open();
        log.info({ viewer: viewer.id, codec: codec.codec, takeover: request.takeover }, "A viewer was answered.");
        return { id: viewer.id, answer };
      } catch (error) {
        viewer.close();
        throw error instanceof WhepRefusal ? error : new InvalidOffer(`The offer cannot be answered: ${String(error)}`);
      }
    },
    dismiss(id) {
      if (current?.id !== id) return false;
      current.close();
      return true;
    },
    current: () => current,
    totals: () => ({ ...totals }),
    notify: (notice) => current?.notify(notice),
    close() {
      clearInterval(rateNotices);
      clearTimeout(parting);
      current?.close();
      releasePort();
    },
  };
}

function chooseCodec(offer: Offer, codecs: readonly VideoCodec[]): OfferedCodec {
  for (const codec of codecs) {
    const offered = offer.video.codecs.find((candidate) => candidate.codec === codec);
    if (offered) return offered;
  }
  throw new InvalidOffer(`The offer's video has none of ${codecs.join(", ")} in a form that can be sent.`);
}

function describeRate({ rate }: Viewer): StreamNotice {
  const { targetKbps, queueMs, loss } = rate.state();
  return { t: "rate", targetKbps, queueMs: Math.round(queueMs), loss: Math.round(loss * 1_000) / 1_000 };
}
