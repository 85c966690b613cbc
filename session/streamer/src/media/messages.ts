import type { Setting } from "./encoders.ts";

/** Messages from the streamer to its media child. */
export type MediaCommand =
  /** Builds both pipelines and captures at the idle rate, so that playing starts at once. */
  | { type: "load"; video: string; audio: string }
  /**
   * Captures at this rate, from a key frame on, with these settings of the encoder, and reports the packets.
   */
  | { type: "play"; settings: Setting[]; fps: number }
  | { type: "bitrate"; settings: Setting[] }
  | { type: "keyFrame" };

/** Messages from the media child to the streamer. */
export type MediaReport =
  /** All packets of one picture, see packetsOf. */
  | { type: "video"; picture: Uint8Array }
  | { type: "audio"; packet: Uint8Array }
  | { type: "failed"; message: string };

/** Message to the probe child: one pipeline at a time. */
export interface ProbeCommand {
  pipeline: string;
}
/** The probe child's response; `message` is empty when the pipeline works. */
export interface ProbeReport {
  works: boolean;
  message: string;
}
