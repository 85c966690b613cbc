import type { Drawing, NodeFindings } from "#contracts/nodeTest.ts";
import type { RenderingObstacle } from "#contracts/stream.ts";

/** What a test came to on a node: its findings, or why there are none. */
export type NodeResult = { findings: NodeFindings } | { failure: string };

const obstacles: Record<RenderingObstacle, string> = {
  NoRenderNode:
    "the streamer's container has no GPU that renders: see gpu.streamer, gpu.claim and gpu.runtimeClassName in docs/gpu.md",
  DisplayFailed: "the accelerated display did not start",
  SoftwareRenderer: "the drivers found no GPU: see gpu.driverCapabilities and gpu.groups in docs/gpu.md",
  ProbeFailed: "what was drawn on the accelerated display did not come out right",
};

/** Returns whether sessions have on the node what the chart's values promise them. */
export function isRight(result: NodeResult): boolean {
  if (!("findings" in result)) return false;
  const { obstacle, encoders, encodesInSoftware } = result.findings;
  return obstacle === undefined && encoders.length > 0 && encodesInSoftware === undefined;
}

/** Returns what `helm test` prints of a node: a sentence, and below it what was found. */
export function nodeReport(node: string, result: NodeResult): string {
  if (!("findings" in result)) return `${node}: could not be tested. ${result.failure}\n`;
  const { renderer, openGl, vulkan, extensions, encoders } = result.findings;
  const lines = {
    Renderer: renderer,
    Encoders: encoders.map(({ codec, name }) => `${name} (${codec})`).join(", ") || "none",
    OpenGL: drawingText(openGl),
    Vulkan: drawingText(vulkan),
    Extensions: extensions.join(", "),
  };
  return `${node}: ${sentenceOf(result.findings)}\n${Object.entries(lines)
    .map(([name, text]) => `  ${name.padEnd(12)}${text}\n`)
    .join("")}`;
}

function sentenceOf({ obstacle, encoders, encodesInSoftware, renderer }: NodeFindings): string {
  if (encoders.length === 0) return "no encoder works here, so that no session starts.";
  if (obstacle !== undefined)
    return `sessions are to have a GPU and render in software, because ${obstacles[obstacle]}.`;
  if (encodesInSoftware === undefined) return `sessions render with ${renderer}.`;
  return `sessions render with ${renderer} and encode in software, because no encoder of a GPU works: see gpu.driverCapabilities, and for Intel's GPUs enable_guc, in docs/gpu.md.`;
}

function drawingText({ name, frameMs, failure }: Drawing): string {
  if (failure !== undefined) return `does not work: ${failure}`;
  return [name, ...(frameMs === undefined ? [] : [`${frameMs} ms a frame`])].join(", ");
}
