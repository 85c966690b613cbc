import type { VideoCodec } from "#contracts/videoCodec.ts";
import { type Encoder, tunedChain } from "./encoders.ts";
import type { StreamQuality } from "#contracts/streamQuality.ts";

/**
 * The settings that a media child is started with. Another shape needs another child, which takes its place.
 */
export type PictureShape = Pick<StreamQuality, "preset" | "width" | "height" | "fps">;

/** Returns whether one child can serve both shapes. */
export function isSameShape(a: PictureShape, b: PictureShape): boolean {
  return a.preset === b.preset && a.width === b.width && a.height === b.height && a.fps === b.fps;
}

/** Bytes of an RTP packet: with SRTP, UDP, IP and extensions it fits any usual path MTU. */
const packetBytes = 1_200;

/**
 * Name of the source, session/capture; its `rate` is in pictures a second, and setting it captures one at
 * once.
 */
export const captureName = "capture";
/**
 * Pictures a second while nobody watches: capture and encoder stay ready for a player, at hardly any cost.
 */
const idleRate = 1;

/**
 * Before the scaler and after it: otherwise it would make up for a pixel more or less by their form, which
 * encoders and browsers do not agree on.
 */
const squarePixels = "pixel-aspect-ratio=1/1";

/** Names of the sinks the media child pulls from. */
export const videoSink = "video";
export const audioSink = "audio";

const payloaders: Record<VideoCodec, string> = {
  h264: `rtph264pay mtu=${packetBytes} aggregate-mode=zero-latency config-interval=-1`,
  h265: `rtph265pay mtu=${packetBytes} aggregate-mode=zero-latency config-interval=-1`,
  av1: `joypodav1pay mtu=${packetBytes}`,
  vp8: `rtpvp8pay mtu=${packetBytes} picture-id-mode=15-bit`,
};

/**
 * Returns a pipeline from the display to pictures of RTP packets, see packetsOf. No queue lies between
 * capture and encoder: a picture is captured when something changed and the encoder is free, so none gets
 * old. It captures at the idle rate until `rate` is set. The picture has its size whatever the display's is,
 * which a game can change: it is scaled on its way, between borders where the display has another shape. One
 * that has its size already passes through as it is.
 */
export function buildVideoPipeline(encoder: Encoder, display: string, shape: PictureShape): string {
  return (
    `joypoddisplaysrc name=${captureName} display-name=${display} rate=${idleRate} ! video/x-raw,format=${encoder.captured},framerate=${shape.fps}/1,${squarePixels}` +
    ` ! videoscale n-threads=2 method=bilinear add-borders=true ! video/x-raw,width=${shape.width},height=${shape.height},${squarePixels}` +
    ` ! ${tunedChain(encoder, shape.preset)} ! ${payloaders[encoder.codec]} ! joypodpictures ! appsink name=${videoSink} sync=false max-buffers=1000`
  );
}

/**
 * Returns a pipeline from the sound server to Opus in RTP packets; apart from the video, so that the sound
 * card's clock does not become the video's. Sound is read every 5 ms, twice for each packet: read as often as
 * the server writes, a packet waits for up to one reading, more or less each time, and browsers hold the
 * sound back for as long. The buffer is what this process may fall behind without losing any, and the
 * timestamps count samples: a source that follows the pipeline's clock skips what came late.
 */
export function buildAudioPipeline(soundServer: string, soundSink: string): string {
  return (
    `pulsesrc device=${soundSink}.monitor server=${soundServer} buffer-time=100000 latency-time=5000 provide-clock=false slave-method=none` +
    " ! audio/x-raw,format=S16LE,rate=48000,channels=2 ! queue ! opusenc bitrate=96000 frame-size=10 audio-type=restricted-lowdelay" +
    ` ! rtpopuspay ! appsink name=${audioSink} sync=false max-buffers=100`
  );
}
