import { randomBytes } from "node:crypto";
import { labels } from "#contracts/crd/names.ts";
import type { Node, Pod } from "#kube/api/builtin.ts";
import type { LabelRequirement } from "#kube/api/labelSelector.ts";
import type { Draft } from "#kube/api/object.ts";
import type { Toleration } from "../gpu/gpuConfig.ts";
import { tolerates, type Taint } from "../nodes/slots.ts";
import { componentLabels, containerSecurity, sessionPodLabels } from "../sessionPods/podSpec.ts";
import { shortLivedPod } from "../sessionPods/shortLivedPods.ts";
import type { ProbeConfig } from "../config.ts";
import { exitCodes } from "./tryConnection.ts";

/**
 * `covered`: matches the policies of a session pod with internet access. `control`: a separate policy lets it
 * reach the operator.
 */
export type ProbeRole = "control" | "covered";

const longestSeconds = 60;

/**
 * Returns a short-lived pod of the sessions namespace that tries to reach the operator. It runs where session
 * pods run and with as few rights.
 */
export function buildProbePod(
  role: ProbeRole,
  namespace: string,
  config: ProbeConfig,
  gameNodes: readonly Node[],
): Draft<Pod> {
  const { image, imagePullPolicy, imagePullSecrets, gameNodeSelector, target } = config;
  return {
    metadata: {
      name: `network-probe-${role}-${randomBytes(4).toString("hex")}`,
      namespace,
      labels: labelsOf(role),
    },
    spec: {
      ...shortLivedPod(longestSeconds, { imagePullSecrets }),
      securityContext: {
        runAsNonRoot: true,
        runAsUser: 10_000,
        runAsGroup: 10_000,
        seccompProfile: { type: "RuntimeDefault" },
      },
      // An affinity without terms would match no node.
      ...(gameNodeSelector.length === 0 ? {} : { affinity: onNodes(gameNodeSelector) }),
      tolerations: tolerationsAmong(gameNodes, config.tolerations),
      containers: [
        {
          name: "probe",
          image,
          imagePullPolicy,
          command: ["node", "api/dist/programs/networkProbe.js", target.host, String(target.port)],
          securityContext: containerSecurity,
          resources: { requests: { cpu: "10m", memory: "48Mi" }, limits: { memory: "128Mi" } },
        },
      ],
    },
  };
}

/**
 * Returns tolerations for the nodes' taints that only keep other pods away or that session pods tolerate.
 * Tolerating every taint would include those of a dead node, which the scheduler prefers because it is empty.
 * A probe there has no result.
 */
function tolerationsAmong(
  nodes: readonly Node[],
  ofSessions: readonly Toleration[],
): NonNullable<NonNullable<Pod["spec"]>["tolerations"]> {
  const taints = nodes
    .flatMap(({ spec }) => spec?.taints ?? [])
    .filter(
      (taint) =>
        !reportsProblem(taint) &&
        (taint.effect === "NoSchedule" || ofSessions.some((toleration) => tolerates(toleration, taint))),
    );
  const distinct = new Map(
    taints.map(({ key, value = "", effect }) => [
      `${key}=${value}:${effect}`,
      { key, operator: "Equal", value, effect },
    ]),
  );
  return [...distinct.values()];
}

/**
 * Returns whether the taint reports a problem with the node, such as a silent kubelet or a full disk.
 * Kubernetes' own taints do, except the one for a cordoned node.
 */
function reportsProblem({ key }: Taint): boolean {
  return key !== "node.kubernetes.io/unschedulable" && /^node\.(cloudprovider\.)?kubernetes\.io\//.test(key);
}

function onNodes(
  requirements: readonly LabelRequirement[],
): NonNullable<NonNullable<Pod["spec"]>["affinity"]> {
  const matchExpressions = requirements.map((requirement) => ({ ...requirement }));
  return {
    nodeAffinity: {
      requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [{ matchExpressions }] },
    },
  };
}

/** Omits the session label, so a probe is never mistaken for a session. */
function labelsOf(role: ProbeRole): Record<string, string> {
  const looks = role === "covered" ? sessionPodLabels("Internet") : componentLabels("network-probe");
  return { ...looks, [labels.networkProbe]: role };
}

/**
 * Returns whether the probe could connect. Undefined while it has not ended, and if it ended for another
 * reason.
 */
export function outcomeOf({ status }: Pod): boolean | undefined {
  const exitCode = status?.containerStatuses?.[0]?.state?.terminated?.exitCode;
  if (exitCode === exitCodes.connected) return true;
  return exitCode === exitCodes.refused ? false : undefined;
}
