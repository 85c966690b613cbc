import { randomBytes } from "node:crypto";
import { containerNames } from "#contracts/nodeLayout.ts";
import type { Pod } from "#kube/api/builtin.ts";
import type { Draft } from "#kube/api/object.ts";
import type { SessionPodConfig } from "../config.ts";
import { devicesOf, resourceClaimsOf } from "../gpu/sessionDevices.ts";
import { pinTo } from "../sessionPods/pinTo.ts";
import { containerSecurity, inMemory, podSecurityOf } from "../sessionPods/podSecurity.ts";
import { componentLabels } from "../sessionPods/sessionPodLabels.ts";
import { shortLivedPod } from "../sessionPods/shortLivedPod.ts";

/** Drivers have deadlines of their own. */
const longestSeconds = 150;

/** Selects the pods of all tests. */
export const nodeTestSelector = "app.kubernetes.io/component=node-test";

/**
 * Returns a short-lived pod on the node that sees of its GPU what a session's streamer sees, and has as few
 * rights.
 */
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
