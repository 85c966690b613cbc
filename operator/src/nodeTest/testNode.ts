import { randomBytes } from "node:crypto";
import { containerNames } from "#contracts/nodeLayout.ts";
import { type Drawing, type NodeFindings, parseNodeFindings } from "#contracts/nodeTest.ts";
import type { RenderingObstacle } from "#contracts/stream.ts";
import type { Pod } from "#kube/api/builtin.ts";
import type { Draft, Stored } from "#kube/api/object.ts";
import type { ResourceClient } from "#kube/client/resourceClient.ts";
import { messageOf } from "#runtime/errors.ts";
import type { Clock } from "#runtime/scheduling/clock.ts";
import type { SessionPodConfig } from "../config.ts";
import { devicesOf, resourceClaimsOf } from "../gpu/gpuConfig.ts";
import {
  componentLabels,
  containerSecurity,
  inMemory,
  pinTo,
  podSecurityOf,
} from "../sessionPods/podSpec.ts";
import { unschedulable } from "../sessionPods/podState.ts";
import { removePod, shortLivedPod } from "../sessionPods/shortLivedPods.ts";

interface NodeTestDeps {
  pods: ResourceClient<Pod>;
  namespace: string;
  config: SessionPodConfig;
  clock: Clock;
}

const pollMs = 1_000;
/** Allows for a node that has to pull the image. */
const deadlineMs = 170_000;
/** How long a pod that cannot be scheduled waits for a session to end. */
const unschedulableMs = 15_000;

/** Runs a test pod on the node and returns its findings. Removes the pod afterwards. */
export async function testNode(nodeName: string, deps: NodeTestDeps): Promise<NodeResult> {
  try {
    return await runPod(nodeName, deps);
  } catch (error) {
    return { failure: messageOf(error) };
  }
}

async function runPod(
  nodeName: string,
  { pods, namespace, config, clock }: NodeTestDeps,
): Promise<NodeResult> {
  const created = await pods.create(buildNodeTestPod(nodeName, namespace, config));
  const startMs = clock.monotonicMs();
  try {
    for (;;) {
      const pod = await pods.find(created.metadata);
      const result =
        pod === undefined
          ? { failure: "Its pod was deleted." }
          : resultOf(pod, clock.monotonicMs() - startMs);
      if (result) return result;
      await clock.sleep(pollMs);
    }
  } finally {
    await removePod(pods, created);
  }
}

/** Returns the test's result. Undefined while the pod may still report more. */
function resultOf(pod: Stored<Pod>, elapsedMs: number): NodeResult | undefined {
  const state = pod.status?.containerStatuses?.[0]?.state;
  if (state?.terminated) {
    const { message = "", exitCode } = state.terminated;
    const findings = exitCode === 0 ? parseNodeFindings(message) : undefined;
    return findings
      ? { findings }
      : { failure: message.trim() || `Its pod ended with exit code ${exitCode}.` };
  }
  if (pod.status?.phase === "Failed")
    return { failure: pod.status.message ?? pod.status.reason ?? "Its pod failed." };
  const place = unschedulable(pod);
  if (place && elapsedMs > unschedulableMs)
    return { failure: `It has no room for the test pod: ${place.message}` };
  if (elapsedMs <= deadlineMs) return undefined;
  const { reason, message } = state?.waiting ?? {};
  return {
    failure:
      `Its pod did not end in time. ${[reason, message].filter((part) => part !== undefined).join(": ")}`.trim(),
  };
}

/** Drivers have their own deadlines. */
const longestSeconds = 150;

/** Selects the pods of all node tests. */
export const nodeTestSelector = "app.kubernetes.io/component=node-test";

/** Returns a short-lived pod that sees the node's GPU as a session's streamer does and has as few rights. */
export function buildNodeTestPod(nodeName: string, namespace: string, config: SessionPodConfig): Draft<Pod> {
  const { cpu, memory, memoryLimitBytes } = config.streamer;
  const gpu = devicesOf(containerNames.streamer, config.gpu, 1);
  const variables = {
    DISPLAY: ":99",
    PROFILE: config.gpu ? "gpu" : "software",
    DISPLAY_SERVER: config.displayServer,
    ...gpu.env,
  };
  return {
    metadata: {
      name: `node-test-${randomBytes(4).toString("hex")}`,
      namespace,
      labels: { ...config.labels, ...componentLabels("node-test") },
      annotations: config.annotations,
    },
    spec: {
      ...shortLivedPod(longestSeconds, config),
      ...(config.runtimeClass === undefined ? {} : { runtimeClassName: config.runtimeClass }),
      securityContext: podSecurityOf(config.gpu),
      affinity: pinTo(nodeName),
      tolerations: [...config.tolerations],
      ...resourceClaimsOf(config.gpu),
      volumes: [inMemory("tmp", "128Mi"), inMemory("x11", "1Mi")],
      containers: [
        {
          name: "node-test",
          image: config.streamerImage,
          imagePullPolicy: config.imagePullPolicy,
          command: ["tini", "--", "node", "/app/session/streamer/src/nodeTest/main.ts"],
          env: Object.entries(variables).map(([name, value]) => ({ name, value })),
          securityContext: containerSecurity,
          resources: {
            requests: { cpu, memory },
            limits: { memory: String(memoryLimitBytes), ...gpu.limits },
            ...gpu.claims,
          },
          volumeMounts: [
            { name: "tmp", mountPath: "/tmp" },
            { name: "x11", mountPath: "/tmp/.X11-unix" },
          ],
        },
      ],
    },
  };
}

/** Result of the test on a node: its findings, or why it has none. */
type NodeResult = { findings: NodeFindings } | { failure: string };

const obstacles: Record<RenderingObstacle, string> = {
  NoRenderNode:
    "the streamer's container has no GPU for rendering (see gpu.streamer, gpu.claim and gpu.runtimeClassName in docs/gpu.md)",
  DisplayFailed: "the accelerated display did not start",
  SoftwareRenderer: "the drivers found no GPU (see gpu.driverCapabilities and gpu.groups in docs/gpu.md)",
  ProbeFailed: "a test image drawn on the accelerated display was wrong",
};

/** Returns whether sessions on the node get everything that the chart's values promise. */
export function hasPassed(result: NodeResult): boolean {
  if (!("findings" in result)) return false;
  const { obstacle, encoders, encodesInSoftware } = result.findings;
  return obstacle === undefined && encoders.length > 0 && encodesInSoftware === undefined;
}

/** Returns the output of `helm test` for a node: one sentence, followed by the findings. */
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
  if (encoders.length === 0) return "no encoder works, so no session can start here.";
  if (obstacle !== undefined)
    return `sessions should use a GPU but render in software, because ${obstacles[obstacle]}.`;
  if (encodesInSoftware === undefined) return `sessions render with ${renderer}.`;
  return `sessions render with ${renderer} and encode in software, because no GPU encoder works. See gpu.driverCapabilities in docs/gpu.md, and enable_guc for Intel GPUs.`;
}

function drawingText({ name, frameMs, failure }: Drawing): string {
  if (failure !== undefined) return `does not work: ${failure}`;
  return [name, ...(frameMs === undefined ? [] : [`${frameMs} ms a frame`])].join(", ");
}
