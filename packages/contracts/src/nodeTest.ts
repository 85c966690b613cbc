import { z } from "zod";
import { RenderingObstacle } from "./stream.ts";
import { VideoCodec } from "./videoCodec.ts";
import { parseTerminationMessage } from "./termination.ts";

/** Drivers choose their names freely, and the kubelet keeps 4096 bytes of a termination message. */
const word = z.string().max(200);

/** The time to draw and show a frame with one graphics API. */
const Drawing = z.object({
  /** Version of OpenGL, or the device of Vulkan. */
  name: word,
  /** In milliseconds; absent if drawing fails. */
  frameMs: z.number().min(0).optional(),
  /** Why drawing fails. */
  failure: word.optional(),
});

/**
 * How a session's picture would be rendered and encoded on a node: the termination message of the pod that
 * `helm test` starts there, as JSON.
 */
export const NodeFindings = z.object({
  /** OpenGL's name of the renderer. */
  renderer: word,
  /** Why it renders in software although sessions should have a GPU. */
  obstacle: RenderingObstacle.optional(),
  openGl: Drawing,
  vulkan: Drawing,
  /** Extensions of the display protocol. */
  extensions: z.array(word).max(40),
  /**
   * The encoder that a session would use for each codec, best codec first, including codecs that are
   * disabled.
   */
  encoders: z.array(z.object({ codec: VideoCodec, name: word })).max(10),
  /** Set if all of them encode in software although sessions should have a GPU. */
  encodesInSoftware: z.literal(true).optional(),
});
export type NodeFindings = z.infer<typeof NodeFindings>;
export type Drawing = z.infer<typeof Drawing>;

/** Parses the findings in a termination message; undefined for other text. */
export function parseNodeFindings(message: string): NodeFindings | undefined {
  return parseTerminationMessage(NodeFindings, message);
}
