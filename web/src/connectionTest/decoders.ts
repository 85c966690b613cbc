import { codecEncodingNames, softwareCodecs, VideoCodec } from "#contracts/videoCodec.ts";
import type { Decoder } from "./testResult.ts";

/** The picture that games send by default. */
const picture = { width: 1_280, height: 720, bitrate: 8_000_000, framerate: 60 };

/**
 * Returns which of the streamers' codecs this browser decodes, best first: those in hardware before others,
 * else in the streamers' order.
 */
export async function findDecoders(): Promise<Decoder[]> {
  const found = await Promise.all(
    knownCodecs().map(async (codec) => ({ codec, isHardware: await isHardware(codec) })),
  );
  return found.toSorted((a, b) => Number(b.isHardware === true) - Number(a.isHardware === true));
}

/**
 * A browser that does not tell, as Firefox before 123, has those that WebRTC demands of each (RFC 7742):
 * every node encodes the same.
 */
function knownCodecs(): readonly VideoCodec[] {
  if (!("getCapabilities" in RTCRtpReceiver)) return softwareCodecs;
  const offered = RTCRtpReceiver.getCapabilities("video")?.codecs ?? [];
  return VideoCodec.options.filter((codec) =>
    offered.some(({ mimeType }) => mimeType.toLowerCase() === mimeTypeOf(codec).toLowerCase()),
  );
}

function mimeTypeOf(codec: VideoCodec): string {
  return `video/${codecEncodingNames[codec]}`;
}

/** Browsers tell it as decoding that saves power; null where they do not tell. */
async function isHardware(codec: VideoCodec): Promise<boolean | null> {
  try {
    const { supported, powerEfficient } = await navigator.mediaCapabilities.decodingInfo({
      type: "webrtc",
      video: { contentType: mimeTypeOf(codec), ...picture },
    });
    return supported ? powerEfficient : null;
  } catch {
    return null; // This browser answers no questions about WebRTC.
  }
}
