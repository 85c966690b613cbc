import { randomBytes } from "node:crypto";
import { labels } from "#contracts/crd/names.ts";
import type { Pod } from "#kube/builtin.ts";
import type { LabelRequirement } from "#kube/labelSelector.ts";
import type { Draft } from "#kube/object.ts";
import { containerSecurity } from "../sessionPods/podSecurity.ts";
import { componentLabels, sessionPodLabels } from "../sessionPods/sessionPodLabels.ts";
import { shortLivedPod } from "../sessionPods/shortLivedPod.ts";
import type { ProbeConfig } from "../config.ts";
import { exitCodes } from "./exitCodes.ts";

/** `covered`: looks to the policies like the pod of a session with internet. `control`: a policy of its own lets it reach the operator. */
export type ProbeRole = "control" | "covered";

const longestSeconds = 60;

/** Returns a short-lived pod of the sessions namespace that tries to reach the operator, where session pods run and with as few rights. */
export function buildProbePod(role: ProbeRole, namespace: string, { image, imagePullPolicy, imagePullSecrets, gameNodeSelector, tolerations, target }: ProbeConfig): Draft<Pod> {
  return {
    metadata: { name: `network-probe-${role}-${randomBytes(4).toString("hex")}`, namespace, labels: labelsOf(role) },
    spec: {
      ...shortLivedPod(longestSeconds, { imagePullSecrets }),
      securityContext: { runAsNonRoot: true, runAsUser: 10_000, runAsGroup: 10_000, seccompProfile: { type: "RuntimeDefault" } },
      // An affinity without terms would match no node.
      ...(gameNodeSelector.length === 0 ? {} : { affinity: onNodes(gameNodeSelector) }),
      tolerations: [{ operator: "Exists", effect: "NoSchedule" }, ...tolerations],
      containers: [{
        name: "probe",
        image,
        imagePullPolicy,
        command: ["node", "api/dist/programs/networkProbe.js", target.host, String(target.port)],
        securityContext: containerSecurity,
        resources: { requests: { cpu: "10m", memory: "48Mi" }, limits: { memory: "128Mi" } },
      }],
    },
  };
}

function onNodes(requirements: readonly LabelRequirement[]): NonNullable<NonNullable<Pod["spec"]>["affinity"]> {
  const matchExpressions = requirements.map((requirement) => ({ ...requirement }));
  return { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [{ matchExpressions }] } } };
}

/** Leaves out the label that names a session, so that a probe is never taken for one. */
function labelsOf(role: ProbeRole): Record<string, string> {
  const looks = role === "covered" ? sessionPodLabels("Internet") : componentLabels("network-probe");
  return { ...looks, [labels.networkProbe]: role };
}

/** Returns whether the probe could connect; undefined while it has not ended, and when it ended by something else. */
export function outcomeOf({ status }: Pod): boolean | undefined {
  const exitCode = status?.containerStatuses?.[0]?.state?.terminated?.exitCode;
  if (exitCode === exitCodes.connected) return true;
  return exitCode === exitCodes.refused ? false : undefined;
}
