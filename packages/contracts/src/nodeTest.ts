import { z } from "zod";
import { RenderingObstacle } from "./stream.ts";
import { VideoCodec } from "./videoCodec.ts";
import { parseTerminationMessage } from "./termination.ts";

/** A driver calls itself what it likes; the kubelet keeps 4096 bytes of a termination message. */
const word = z.string().max(200);

/** What a frame takes that is drawn and shown, in one way of drawing. */
const Drawing = z.object({
  /** Version of OpenGL, or the device of Vulkan. */
  name: word,
  /** Milliseconds; absent where it does not work. */
  frameMs: z.number().min(0).optional(),
  /** Why it does not work. */
  failure: word.optional(),
});

/**
 * What a session's picture would be made with on a node: the termination message of the pod that `helm test`
 * starts there, as JSON.
 */
export const NodeFindings = z.object({
  /** OpenGL's name of what renders. */
  renderer: word,
  /** Why it renders in software although sessions are to have a GPU. */
  obstacle: RenderingObstacle.optional(),
  openGl: Drawing,
  vulkan: Drawing,
  /** Of the display's protocol. */
  extensions: z.array(word).max(40),
  /** For each codec, whichever sessions are sent in, the encoder that one would take, best codec first. */
  encoders: z.array(z.object({ codec: VideoCodec, name: word })).max(10),
  /** Whether none of them is the GPU's although sessions are to have one. */
  encodesInSoftware: z.literal(true).optional(),
});
export type NodeFindings = z.infer<typeof NodeFindings>;
export type Drawing = z.infer<typeof Drawing>;

/** Returns the findings in a termination message; undefined when it has none. */
export function parseNodeFindings(message: string): NodeFindings | undefined {
  return parseTerminationMessage(NodeFindings, message);
}
