import type { Clock } from "#runtime/scheduling/clock.ts";
import { randomInt } from "node:crypto";
import nodeDataChannel, { type DataChannel, type PeerConnection, type Track } from "node-datachannel";
import { codecEncodingNames } from "#contracts/videoCodec.ts";
import { rejectedOffer } from "../errors.ts";
import { announceAddresses, extensionUris, type Offer, type OfferedCodec } from "./sdp.ts";
import { connectionOptions, gatherSdpAnswer } from "./sharedPort.ts";
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

/** A track, the header fields of its packets and its sender reports. */
export interface OutgoingTrack {
  track: Track;
  header: TrackHeader;
  reports: SenderReports;
}

/** The audio track. `redundancy` wraps packets for browsers that accept redundant audio. */
export interface OutgoingAudio extends OutgoingTrack {
  redundancy: Redundancy | undefined;
}

/** A WebRTC connection that sends one video and one audio track and answers one offer. */
export interface Peer {
  connection: PeerConnection;
  video: OutgoingTrack;
  audio: OutgoingAudio | undefined;
  sdpAnswer: string;
  /** Closes the connection, even if the other side already has. May be called more than once. */
  close(): void;
}

/**
 * Sets up the offered connection on the UDP port shared by all viewers. Calls `onDataChannel` for each data
 * channel that opens.
 *
 * @throws DomainError invalid_offer
 */
export async function openPeer(
  { id, offer, codec, addresses, udpPort, clock }: PeerOptions,
  onDataChannel: (channel: DataChannel) => void,
): Promise<Peer> {
  const connection = new nodeDataChannel.PeerConnection(id, connectionOptions(udpPort));
  connection.onDataChannel(onDataChannel);
  try {
    const createReports = ({ ssrc }: TrackHeader, clockRate: number) =>
      createSenderReports({
        ssrc,
        clockRate,
        canonicalName: streamName,
        wallMs: () => performance.timeOrigin + clock.monotonicMs(),
      });
    const video = addVideo(connection, offer, codec, createReports);
    const audio = addAudio(connection, offer, createReports);
    const sdpAnswer = announceAddresses(await gatherSdpAnswer(connection, offer.sdp), addresses, udpPort);
    return {
      connection,
      video,
      audio,
      sdpAnswer,
      close() {
        // The transport keeps the callbacks of a track, and everything they reference, until the track is
        // closed.
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

type CreateReports = (header: TrackHeader, clockRate: number) => SenderReports;

function addVideo(
  connection: PeerConnection,
  { video }: Offer,
  { codec, payloadType, parameters }: OfferedCodec,
  createReports: CreateReports,
): OutgoingTrack {
  const { transportSequence, playoutDelay } = video.extensions;
  const header = {
    payloadType,
    ssrc: newSsrc(),
    transportSequenceId: transportSequence,
    playoutDelayId: playoutDelay,
  };
  const media = new nodeDataChannel.Video(video.mid, "SendOnly");
  media.addVideoCodec(payloadType, codecEncodingNames[codec], ...(parameters === "" ? [] : [parameters])); // It does not accept undefined.
  media.addSSRC(header.ssrc, streamName, streamName, "game-video");
  if (transportSequence !== undefined) {
    media.parseSdpLine(`a=extmap:${transportSequence} ${extensionUris.transportSequence}`);
    media.parseSdpLine(`a=rtcp-fb:${payloadType} transport-cc`);
  }
  if (playoutDelay !== undefined)
    media.parseSdpLine(`a=extmap:${playoutDelay} ${extensionUris.playoutDelay}`);
  return { track: connection.addTrack(media), header, reports: createReports(header, videoClockRate) };
}

function addAudio(
  connection: PeerConnection,
  { audio }: Offer,
  createReports: CreateReports,
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
    reports: createReports(header, audioClockRate),
    redundancy,
  };
}

function newSsrc(): number {
  return randomInt(1, 0xffff_fffe);
}
