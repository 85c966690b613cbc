import type { Setting } from "./encoders.ts";

/** Messages from the streamer to the media process. */
export type MediaCommand =
  /** Builds both pipelines and captures at the idle rate, so that playing starts without delay. */
  | { type: "load"; video: string; audio: string }
  /** Captures at this rate, starting with a key frame, with these encoder settings, and reports packets. */
  | { type: "play"; settings: Setting[]; fps: number }
  | { type: "bitrate"; settings: Setting[] }
  | { type: "keyFrame" };

/** Messages from the media process to the streamer. */
export type MediaReport =
  /** All packets of one picture (see `splitPackets`). */
  | { type: "video"; picture: Uint8Array }
  | { type: "audio"; packet: Uint8Array }
  | { type: "failed"; message: string };

/** Message to the probe process, one pipeline at a time. */
export interface ProbeCommand {
  pipeline: string;
}
/** Response of the probe process. `message` is empty when the pipeline works. */
export interface ProbeReport {
  works: boolean;
  message: string;
}
