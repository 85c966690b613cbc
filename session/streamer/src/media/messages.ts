import type { Setting } from "./encoders.ts";

/** Messages from the streamer to the media process. */
export type MediaCommand =
  /** Builds both pipelines and captures at the idle rate, so that playing starts without delay. */
  | { type: "load"; video: string; audio: string }
  /** Captures at this rate, starting with a key frame, with these encoder settings, and reports packets. */
  | { type: "play"; settings: Setting[]; fps: number }
  | { type: "bitrate"; settings: Setting[] }
  | { type: "keyFrame" }
  /** Reports one picture of this pipeline, unless it cannot be taken. */
  | { type: "still"; pipeline: string };

/** Messages from the media process to the streamer. */
export type MediaReport =
  /** All packets of one picture (see `splitPackets`). */
  | { type: "video"; picture: Uint8Array }
  | { type: "audio"; packet: Uint8Array }
  /** A small JPEG of the display. */
  | { type: "still"; jpeg: Uint8Array }
  | { type: "noStill"; message: string }
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
