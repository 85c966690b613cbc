import type { GameSession } from "#contracts/crd/gameSession.ts";
import { podVolumes } from "#contracts/nodeLayout.ts";
import type { Pod } from "#kube/api/builtin.ts";
import type { Stored } from "#kube/api/object.ts";
import { createdAt } from "./gameSession.ts";

type PodStatus = NonNullable<Pod["status"]>;
export type ContainerStatus = NonNullable<PodStatus["containerStatuses"]>[number];

/** Returns the container statuses of a session's pod in the given state. */
export function containerStatus(
  name: "game" | "streamer",
  state: ContainerStatus["state"],
  overrides: Partial<ContainerStatus> = {},
): ContainerStatus {
  return {
    name,
    image: name,
    imageID: name,
    ready: state?.running !== undefined,
    restartCount: 0,
    ...(state === undefined ? {} : { state }),
    ...overrides,
  };
}

export const running: PodStatus = {
  phase: "Running",
  podIP: "10.0.0.5",
  conditions: [{ type: "Ready", status: "True" }],
  initContainerStatuses: [containerStatus("streamer", { running: { startedAt: createdAt } })],
  containerStatuses: [containerStatus("game", { running: { startedAt: createdAt } })],
};

/** Returns a termination report of the game's supervisor. */
export function aTerminationReport(overrides: Record<string, unknown> = {}): string {
  return JSON.stringify({
    state: "ended",
    reason: "stopped",
    exitCode: 0,
    oomKills: 0,
    cpuSeconds: 12.5,
    peakMemoryBytes: 300_000_000,
    wallSeconds: 60,
    ...overrides,
  });
}

/** Returns the status of a pod whose game has ended. */
export function ended(
  exitCode = 0,
  message = aTerminationReport({ exitCode }),
  reason = exitCode === 0 ? "Completed" : "Error",
): PodStatus {
  return {
    phase: exitCode === 0 ? "Succeeded" : "Failed",
    podIP: "10.0.0.5",
    initContainerStatuses: [
      containerStatus("streamer", { terminated: { exitCode: 0, reason: "Completed" } }),
    ],
    containerStatuses: [
      containerStatus("game", {
        terminated: { exitCode, reason, message, finishedAt: "2030-01-01T10:01:05Z" },
      }),
    ],
  };
}

/** Returns the pod of a placed session as the API server could return it. */
export function aSessionPod(
  session: Stored<GameSession>,
  {
    status = running,
    metadata = {},
    nodeName = "node1",
    mediaPort = 20_000,
    isBound = true,
  }: {
    status?: PodStatus;
    metadata?: Pick<
      Partial<Stored<Pod>["metadata"]>,
      "deletionTimestamp" | "deletionGracePeriodSeconds" | "finalizers"
    >;
    nodeName?: string;
    mediaPort?: number;
    isBound?: boolean;
  } = {},
): Stored<Pod> {
  const { name, namespace, uid } = session.metadata;
  const matchFields = [{ key: "metadata.name", operator: "In", values: [nodeName] }];
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      uid: "uid-of-pod",
      resourceVersion: "1",
      creationTimestamp: createdAt,
      finalizers: ["joypod.dev/usage"],
      labels: { "joypod.dev/game-session": name },
      ownerReferences: [
        { apiVersion: "joypod.dev/v1alpha1", kind: "GameSession", name, uid, controller: true },
      ],
      ...metadata,
      name,
      namespace,
    },
    spec: {
      ...(isBound ? { nodeName } : {}),
      affinity: {
        nodeAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [{ matchFields }] },
        },
      },
      volumes: [{ name: podVolumes.spool }],
      containers: [
        { name: "game", ports: [{ containerPort: mediaPort, hostPort: mediaPort, protocol: "UDP" }] },
      ],
    },
    status,
  };
}
