import type { VideoCodec } from "#contracts/videoCodec.ts";
import { type Encoder, buildTunedChain } from "./encoders.ts";
import { limits } from "#contracts/limits.ts";
import type { StreamQuality } from "#contracts/streamQuality.ts";

/** The settings that a media process starts with. A different shape requires a new process. */
export type PictureShape = Pick<StreamQuality, "preset" | "width" | "height" | "fps">;

/** Returns whether one media process can serve both shapes. */
export function isSameShape(a: PictureShape, b: PictureShape): boolean {
  return a.preset === b.preset && a.width === b.width && a.height === b.height && a.fps === b.fps;
}

/** Size of an RTP packet in bytes. With SRTP, UDP, IP and extensions it fits any usual path MTU. */
const packetBytes = 1_200;

/**
 * Name of the capture element (session/capture). Setting its `rate`, in pictures per second, also captures
 * one picture immediately.
 */
export const captureName = "capture";
/** Pictures per second while nobody watches. Capture and encoder stay ready at hardly any cost. */
const idleRate = 1;

/**
 * Set before and after the scaler. Otherwise the scaler compensates for a pixel more or less with the pixel
 * aspect ratio, which encoders and browsers interpret differently.
 */
const squarePixels = "pixel-aspect-ratio=1/1";

/** Names of the sinks that the media process pulls from. */
export const videoSink = "video";
export const audioSink = "audio";
export const stillSink = "still";

const payloaders: Record<VideoCodec, string> = {
  h264: `rtph264pay mtu=${packetBytes} aggregate-mode=zero-latency config-interval=-1`,
  h265: `rtph265pay mtu=${packetBytes} aggregate-mode=zero-latency config-interval=-1`,
  av1: `joypodav1pay mtu=${packetBytes}`,
  vp8: `rtpvp8pay mtu=${packetBytes} picture-id-mode=15-bit`,
};

/**
 * Returns a pipeline from the display to pictures of RTP packets (see `splitPackets`). There is no queue
 * between capture and encoder: a picture is captured when something changed and the encoder is free, so none
 * becomes stale. It captures at the idle rate until `rate` is set. The display may have any size, because a
 * game can change it: the picture is scaled, with borders if the aspect ratio differs. A picture that already
 * has the right size passes through unchanged.
 */
export function buildVideoPipeline(encoder: Encoder, display: string, shape: PictureShape): string {
  return (
    `joypoddisplaysrc name=${captureName} display-name=${display} rate=${idleRate} ! video/x-raw,format=${encoder.inputFormat},framerate=${shape.fps}/1,${squarePixels}` +
    ` ! videoscale n-threads=2 method=bilinear add-borders=true ! video/x-raw,width=${shape.width},height=${shape.height},${squarePixels}` +
    ` ! ${buildTunedChain(encoder, shape.preset)} ! ${payloaders[encoder.codec]} ! joypodpictures ! appsink name=${videoSink} sync=false max-buffers=1000`
  );
}

/**
 * Returns a pipeline from the sound server to Opus in RTP packets. It is separate from the video, so that the
 * sound card's clock does not drive the video. Sound is read every 5 ms, twice per packet: at the server's
 * own interval a packet would wait for up to one read, with jitter, and browsers would delay the sound
 * accordingly. The buffer covers how far this process may fall behind without losing sound. Timestamps count
 * samples, because a source that follows the pipeline's clock skips late samples.
 */
export function buildAudioPipeline(soundServer: string, soundSink: string): string {
  return (
    `pulsesrc device=${soundSink}.monitor server=${soundServer} buffer-time=100000 latency-time=5000 provide-clock=false slave-method=none` +
    " ! audio/x-raw,format=S16LE,rate=48000,channels=2 ! queue ! opusenc bitrate=96000 frame-size=10 audio-type=restricted-lowdelay" +
    ` ! rtpopuspay ! appsink name=${audioSink} sync=false max-buffers=100`
  );
}

/**
 * Returns a pipeline for one small JPEG of the display. It captures by itself: a branch of the video pipeline
 * would hold its pictures, and change how it allocates them.
 */
export function buildStillPipeline(display: string): string {
  const { width, height } = limits.save.picture;
  return (
    `joypoddisplaysrc display-name=${display} rate=1 num-buffers=1 ! video/x-raw,format=I420,framerate=1/1,${squarePixels}` +
    ` ! videoscale method=bilinear add-borders=true ! video/x-raw,width=${width},height=${height},${squarePixels}` +
    ` ! jpegenc quality=75 ! appsink name=${stillSink} sync=false max-buffers=1`
  );
}
