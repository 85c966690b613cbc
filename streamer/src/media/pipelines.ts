import type { VideoCodec } from "#contracts/stream.ts";
import type { Encoder } from "./encoders.ts";

/** Bytes of an RTP packet: with SRTP, UDP, IP and extensions it fits any usual path MTU. */
const packetBytes = 1_200;

/** Name of the source, images/session/capture; its `rate` is in pictures a second, and setting it captures one at once. */
export const captureName = "capture";
/** Pictures a second while nobody watches: capture and encoder stay ready for a player, at hardly any cost. */
const idleRate = 1;

/** Names of the sinks the media child pulls from. */
export const videoSink = "video";
export const audioSink = "audio";

const payloaders: Record<VideoCodec, string> = {
  h264: `rtph264pay mtu=${packetBytes} aggregate-mode=zero-latency config-interval=-1`,
  vp8: `rtpvp8pay mtu=${packetBytes} picture-id-mode=15-bit`,
};

/**
 * Returns a pipeline from the display to RTP packets. No queue lies between capture and encoder: a picture is captured when something
 * changed and the encoder is free, so none gets old. It captures at the idle rate until `rate` is set.
 */
export function buildVideoPipeline(encoder: Encoder, display: string, fps: number): string {
  return `joypoddisplaysrc name=${captureName} display-name=${display} rate=${idleRate} ! video/x-raw,framerate=${fps}/1`
    + ` ! ${encoder.chain} ! ${payloaders[encoder.codec]} ! appsink name=${videoSink} sync=false max-buffers=1000`;
}

/**
 * Returns a pipeline from the sound server to Opus in RTP packets; apart from the video, so that the sound card's clock does not become the
 * video's. Sound is read every 10 ms; the buffer is what this process may fall behind without losing any, and the timestamps count samples:
 * a source that follows the pipeline's clock skips what came late.
 */
export function buildAudioPipeline(soundServer: string, soundSink: string): string {
  return `pulsesrc device=${soundSink}.monitor server=${soundServer} buffer-time=100000 latency-time=10000 provide-clock=false slave-method=none`
    + " ! audio/x-raw,format=S16LE,rate=48000,channels=2 ! queue ! opusenc bitrate=96000 frame-size=10 audio-type=restricted-lowdelay"
    + ` ! rtpopuspay ! appsink name=${audioSink} sync=false max-buffers=100`;
}
