import { codecEncodingNames, VideoCodec } from "#contracts/videoCodec.ts";
import type { Decoder } from "./testResult.ts";

/** The picture that games send by default. */
const picture = { width: 1_280, height: 720, bitrate: 8_000_000, framerate: 60 };

/** Returns which of the streamers' codecs this browser decodes, best first: those in hardware before others, else in the streamers' order. */
export async function findDecoders(): Promise<Decoder[]> {
  const offered = RTCRtpReceiver.getCapabilities("video")?.codecs ?? [];
  const known = VideoCodec.options.filter((codec) => offered.some(({ mimeType }) => mimeType.toLowerCase() === mimeTypeOf(codec).toLowerCase()));
  const found = await Promise.all(known.map(async (codec) => ({ codec, isHardware: await isHardware(codec) })));
  return found.toSorted((a, b) => Number(b.isHardware === true) - Number(a.isHardware === true));
}

function mimeTypeOf(codec: VideoCodec): string {
  return `video/${codecEncodingNames[codec]}`;
}

/** Browsers tell it as decoding that saves power; null where they do not tell. */
async function isHardware(codec: VideoCodec): Promise<boolean | null> {
  try {
    const { supported, powerEfficient } = await navigator.mediaCapabilities.decodingInfo({ type: "webrtc", video: { contentType: mimeTypeOf(codec), ...picture } });
    return supported ? powerEfficient : null;
  } catch {
    return null; // This browser answers no questions about WebRTC.
  }
}
