import { acceleratedReasons } from "#contracts/crd/reasons.ts";
import type { RenderingObstacle } from "#contracts/stream.ts";
import { codecEncodingNames } from "#contracts/videoCodec.ts";
import type { SessionWorld } from "../world.ts";
import type { StepContext } from "./step.ts";

const messages: Record<RenderingObstacle, string> = {
  NoRenderNode: "The streamer was given no render node (/dev/dri/renderD*).",
  DisplayFailed: "The accelerated display did not start; the streamer's log says why.",
  SoftwareRenderer: "There is a render node, but OpenGL renders in software: its driver is missing.",
  ProbeFailed: "What was drawn with OpenGL or Vulkan was not captured right; the streamer's log says why.",
};

/** Notes what the streamer found to make the stream; nothing of a streamer that has not said it yet. */
export function reportStream({ session, playable }: SessionWorld, draft: StepContext["draft"]): void {
  if (playable?.picture === undefined) return;
  const {
    encoder,
    codec,
    picture: { renderer, width, height, maxFps, obstacle },
  } = playable;
  draft.status.stream = { renderer, encoder, codec: codecEncodingNames[codec], width, height, fps: maxFps };
  if (session.spec.profile !== "Gpu") return;
  if (obstacle === undefined) {
    draft.set("Accelerated", "True", acceleratedReasons.rendersOnGpu, `${renderer} renders.`);
    return;
  }
  const message = messages[obstacle];
  draft.set("Accelerated", "False", obstacle, `${message} The session renders in software.`);
  draft.event(
    "Warning",
    obstacle,
    "Start",
    `The session was to have a GPU and renders in software. ${message}`,
  );
  draft.count((metrics) => metrics.sessionUnaccelerated(obstacle));
}
