import nodeDataChannel from "node-datachannel";
import { removeCandidates } from "#streamer/transport/sdp.ts";

/** The H.264 that a local page offers. */
export const offeredH264 = {
  codec: "h264",
  payloadType: 96,
  parameters: "profile-level-id=42e01f;packetization-mode=1;level-asymmetry-allowed=1",
} as const;

export interface LocalPageOptions {
  /** Labels of the data channels to open. */
  channels: readonly string[];
  /** Whether it offers to receive picture and sound. */
  hasMedia: boolean;
}

/**
 * Opens a page's connection without a browser, in this process, which the transport's threads then keep
 * alive. Returns its offer and controls.
 */
export function openLocalPage({ channels: labels, hasMedia }: LocalPageOptions) {
  const connection = new nodeDataChannel.PeerConnection("page", {
    iceServers: [],
    disableAutoNegotiation: true,
  });
  const channels = labels.map((label) => connection.createDataChannel(label));
  const tracks = hasMedia ? [connection.addTrack(videoOffer()), connection.addTrack(audioOffer())] : [];
  connection.setLocalDescription("offer");
  return {
    // Without candidates the streamer cannot connect first. libdatachannel passes an answer to ICE before it
    // records the fingerprint in it, so a connection that opens in between fails its DTLS handshake.
    offer: removeCandidates(connection.localDescription()?.sdp ?? "").join("\r\n") + "\r\n",
    take: (sdpAnswer: string) => connection.setRemoteDescription(sdpAnswer, "answer"),
    /** SSRCs of picture and sound. */
    tracks,
    isOpen: () => [...channels, ...tracks].every((part) => part.isOpen()),
    leave: () => {
      for (const part of [...channels, ...tracks]) part.close();
      connection.close();
    },
  };
}

function videoOffer() {
  const video = new nodeDataChannel.Video("video", "RecvOnly");
  video.addVideoCodec(offeredH264.payloadType, "H264", offeredH264.parameters);
  return video;
}

function audioOffer() {
  const audio = new nodeDataChannel.Audio("audio", "RecvOnly");
  audio.addOpusCodec(97);
  return audio;
}
