import type { Measured } from "./meters.ts";

/** Size of the pictures that are compared. */
const size = { width: 320, height: 180 };
/** Bytes of the luma plane, which comes first. */
export const lumaBytes = size.width * size.height;
const picturesPerSecond = 60;

/** Names of the sinks that the watch process pulls from. */
export const pictureSink = "pictures";
export const soundSink = "samples";

/** Messages to the watch process. */
export type WatchCommand =
  /** Reports what these two pipelines show from now on. */
  | { type: "watch"; picture: string; sound: string }
  /** Reports one picture of this pipeline. */
  | { type: "still"; pipeline: string };

/** Messages from the watch process. */
export type WatchReport = ({ type: "measured" } & Measured) | { type: "still"; jpeg: Uint8Array };

/** Returns a pipeline of small pictures of the display, whenever it changes. */
export function buildWatchedPicture(display: string): string {
  return (
    `joypoddisplaysrc display-name=${display} rate=${picturesPerSecond} ! video/x-raw,format=I420,framerate=${picturesPerSecond}/1` +
    ` ! videoscale method=bilinear ! video/x-raw,width=${size.width},height=${size.height}` +
    ` ! appsink name=${pictureSink} sync=false max-buffers=4 drop=true`
  );
}

/** Returns a pipeline of what the sound server plays. */
export function buildWatchedSound(soundServer: string, sink: string): string {
  return (
    `pulsesrc device=${sink}.monitor server=${soundServer} provide-clock=false slave-method=none` +
    ` ! audio/x-raw,format=S16LE,rate=8000,channels=1 ! appsink name=${soundSink} sync=false max-buffers=50 drop=true`
  );
}
