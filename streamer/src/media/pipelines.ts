import type { VideoCodec } from "#contracts/stream.ts";
import type { Encoder } from "./encoders.ts";

/** Bytes of an RTP packet: with SRTP, UDP, IP and extensions it fits any usual path. */
const packetBytes = 1_200;

/** Names of the sinks the media child pulls from. */
export const videoSink = "video";
export const audioSink = "audio";

const payloaders: Record<VideoCodec, string> = {
  h264: `rtph264pay mtu=${packetBytes} aggregate-mode=zero-latency config-interval=-1`,
  vp8: `rtpvp8pay mtu=${packetBytes} picture-id-mode=15-bit`,
};

/** The display, encoded, as RTP packets; a frame that comes while one waits replaces it. */
export function buildVideoPipeline(encoder: Encoder, display: string, fps: number): string {
  return `ximagesrc display-name=${display} use-damage=false show-pointer=true remote=false ! video/x-raw,framerate=${fps}/1`
    + " ! queue leaky=downstream max-size-buffers=1 max-size-time=0 max-size-bytes=0"
    + ` ! ${encoder.chain} ! ${payloaders[encoder.codec]} ! appsink name=${videoSink} sync=false max-buffers=1000`;
}

/** What the game plays, as Opus in RTP packets; apart from the video, so that the sound card's clock does not become its clock. */
export function buildAudioPipeline(soundServer: string, soundSink: string): string {
  return `pulsesrc device=${soundSink}.monitor server=${soundServer} buffer-time=20000 latency-time=10000 provide-clock=false`
    + " ! audio/x-raw,format=S16LE,rate=48000,channels=2 ! queue ! opusenc bitrate=96000 frame-size=10 audio-type=restricted-lowdelay"
    + ` ! rtpopuspay ! appsink name=${audioSink} sync=false max-buffers=100`;
}
