import type { Clock } from "#runtime/scheduling/clock.ts";
import { randomInt } from "node:crypto";
import nodeDataChannel, { type DataChannel, type PeerConnection, type Track } from "node-datachannel";
import { codecEncodingNames } from "#contracts/videoCodec.ts";
import { rejectedOffer } from "../errors.ts";
import { announceAddresses, extensionUris, type Offer, type OfferedCodec } from "./sdp.ts";
import { connectionOn, gatherSdpAnswer } from "./sharedPort.ts";
import { audioClockRate, videoClockRate, type TrackHeader } from "../rtp/rtpPacket.ts";
import { createRedundancy, type Redundancy } from "../rtp/redundancy.ts";
import { createSenderReports, type SenderReports } from "../rtp/senderReports.ts";

const opusParameters = "minptime=10;stereo=1;sprop-stereo=1";
const streamName = "game";

export interface PeerOptions {
  id: string;
  offer: Offer;
  codec: OfferedCodec;
  addresses: readonly string[];
  udpPort: number;
  clock: Pick<Clock, "monotonicMs">;
}

/** A track, the header fields of its packets, and the reports that go with them. */
export interface OutgoingTrack {
  track: Track;
  header: TrackHeader;
  reports: SenderReports;
}

/** The audio track; `redundancy` wraps its packets for browsers that take redundant audio. */
export interface OutgoingAudio extends OutgoingTrack {
  redundancy: Redundancy | undefined;
}

/** One WebRTC connection that sends one video, one audio and answers one offer. */
export interface Peer {
  connection: PeerConnection;
  video: OutgoingTrack;
  audio: OutgoingAudio | undefined;
  sdpAnswer: string;
  /** Ends the connection, also when the other side has ended it before; may be called more than once. */
  close(): void;
}

/**
 * Sets up the connection as the offer asks, on the UDP port that all viewers share; calls `onDataChannel` for
 * each that opens. Throws InvalidOffer.
 */
export async function openPeer(
  { id, offer, codec, addresses, udpPort, clock }: PeerOptions,
  onDataChannel: (channel: DataChannel) => void,
): Promise<Peer> {
  const connection = new nodeDataChannel.PeerConnection(id, connectionOn(udpPort));
  connection.onDataChannel(onDataChannel);
  try {
    const reportsOf = ({ ssrc }: TrackHeader, clockRate: number) =>
      createSenderReports({
        ssrc,
        clockRate,
        canonicalName: streamName,
        wallMs: () => performance.timeOrigin + clock.monotonicMs(),
      });
    const video = addVideo(connection, offer, codec, reportsOf);
    const audio = addAudio(connection, offer, reportsOf);
    const sdpAnswer = announceAddresses(await gatherSdpAnswer(connection, offer.sdp), addresses, udpPort);
    return {
      connection,
      video,
      audio,
      sdpAnswer,
      close() {
        // The transport holds the callbacks of a track until the track itself is closed, and with them all
        // that they refer to.
        video.track.close();
        audio?.track.close();
        connection.close();
      },
    };
  } catch (error) {
    connection.close();
    throw rejectedOffer(error);
  }
}

type ReportsOf = (header: TrackHeader, clockRate: number) => SenderReports;

function addVideo(
  connection: PeerConnection,
  { video }: Offer,
  { codec, payloadType, parameters }: OfferedCodec,
  reportsOf: ReportsOf,
): OutgoingTrack {
  const { transportSequence, playoutDelay } = video.extensions;
  const header = {
    payloadType,
    ssrc: newSsrc(),
    transportSequenceId: transportSequence,
    playoutDelayId: playoutDelay,
  };
  const media = new nodeDataChannel.Video(video.mid, "SendOnly");
  media.addVideoCodec(payloadType, codecEncodingNames[codec], ...(parameters === "" ? [] : [parameters])); // It takes no undefined.
  media.addSSRC(header.ssrc, streamName, streamName, "game-video");
  if (transportSequence !== undefined) {
    media.parseSdpLine(`a=extmap:${transportSequence} ${extensionUris.transportSequence}`);
    media.parseSdpLine(`a=rtcp-fb:${payloadType} transport-cc`);
  }
  if (playoutDelay !== undefined)
    media.parseSdpLine(`a=extmap:${playoutDelay} ${extensionUris.playoutDelay}`);
  return { track: connection.addTrack(media), header, reports: reportsOf(header, videoClockRate) };
}

function addAudio(
  connection: PeerConnection,
  { audio }: Offer,
  reportsOf: ReportsOf,
): OutgoingAudio | undefined {
  if (!audio) return undefined;
  const { payloadType, redundantPayloadType } = audio;
  const header = {
    payloadType: redundantPayloadType ?? payloadType,
    ssrc: newSsrc(),
    transportSequenceId: undefined,
    playoutDelayId: undefined,
  };
  const media = new nodeDataChannel.Audio(audio.mid, "SendOnly");
  media.addOpusCodec(payloadType, opusParameters);
  if (redundantPayloadType !== undefined)
    media.addAudioCodec(redundantPayloadType, `red/${audioClockRate}/2`, `${payloadType}/${payloadType}`);
  media.addSSRC(header.ssrc, streamName, streamName, "game-audio");
  const redundancy = redundantPayloadType === undefined ? undefined : createRedundancy(payloadType);
  return {
    track: connection.addTrack(media),
    header,
    reports: reportsOf(header, audioClockRate),
    redundancy,
  };
}

function newSsrc(): number {
  return randomInt(1, 0xffff_fffe);
}
