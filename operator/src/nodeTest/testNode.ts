import { parseNodeFindings } from "#contracts/nodeTest.ts";
import type { Pod } from "#kube/api/builtin.ts";
import type { Stored } from "#kube/api/object.ts";
import type { ResourceClient } from "#kube/client/resourceClient.ts";
import type { Clock } from "#runtime/scheduling/clock.ts";
import type { SessionPodConfig } from "../config.ts";
import { unschedulable } from "../sessionPods/podState.ts";
import { removePod } from "../sessionPods/removePods.ts";
import type { NodeResult } from "./nodeReport.ts";
import { buildNodeTestPod } from "./nodeTestPod.ts";
import { messageOf } from "#runtime/errors.ts";

export interface NodeTestDeps {
  pods: ResourceClient<Pod>;
  namespace: string;
  config: SessionPodConfig;
  clock: Clock;
}

const pollMs = 1_000;
/** For a node that may have to pull the image. */
const deadlineMs = 170_000;
/** A pod that the scheduler finds no place for waits this long for a session to end. */
const unschedulableMs = 15_000;

/** Returns what a pod finds on the node, which is gone afterwards. */
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

/** Returns what the test came to; undefined while the pod may still say more. */
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
    return { failure: `It has no room for the test beside what runs there: ${place.message}` };
  if (elapsedMs <= deadlineMs) return undefined;
  const { reason, message } = state?.waiting ?? {};
  return {
    failure:
      `Its pod did not end in time. ${[reason, message].filter((part) => part !== undefined).join(": ")}`.trim(),
  };
}
