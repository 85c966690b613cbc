import { type Condition, apiVersion, type ObjectMeta } from "#contracts/crd/kind.ts";
import type { GameSession, GameSessionStatus, StreamSummary } from "#contracts/crd/gameSession.ts";
import type { GameSessionSpec } from "#contracts/crd/gameSessionSpec.ts";
import { finalizers } from "#contracts/crd/names.ts";
import { limits } from "#contracts/limits.ts";
import type { Stored } from "#kube/api/object.ts";

export const aDigest = "a".repeat(64);
/** The creation time of sessions in tests. */
export const createdAt = "2030-01-01T10:00:00Z";

/** Returns the time `seconds` after the creation. */
export function after(seconds: number): Date {
  return new Date(Date.parse(createdAt) + seconds * 1000);
}

/** Returns a valid session spec. */
export function aGameSessionSpec(overrides: Partial<GameSessionSpec> = {}): GameSessionSpec {
  return {
    userId: "user1",
    gameCacheRef: { name: "the-question" },
    contentDigest: aDigest,
    launcher: "run.sh",
    engineDir: "engine",
    saveSlot: { slotId: "slot1", number: 1, generation: 0 },
    profile: "Software",
    resources: { cpuMillicores: 500, memoryBytes: 512 * 2 ** 20, gpuShare: 1 },
    stopGraceSeconds: limits.gameSession.stopGraceSeconds.default,
    saveVolumeBytes: limits.save.volumeBytes.default,
    network: "None",
    stream: { width: 1280, height: 720, framesPerSecond: 60, codecs: ["H264", "VP8"], maxBitrateKbps: 8000 },
    desiredState: "Running",
    idleTimeoutSeconds: 1800,
    startDeadlineSeconds: 120,
    downloadDeadlineSeconds: 60,
    maxDurationSeconds: 28_800,
    ttlSecondsAfterFinished: 300,
    ...overrides,
  };
}

/** Returns a session as the API server could return it. */
export function aGameSession({
  metadata = {},
  spec = {},
  status,
}: {
  metadata?: Partial<ObjectMeta>;
  spec?: Partial<GameSessionSpec>;
  status?: GameSessionStatus;
} = {}): Stored<GameSession> {
  const { name = "gs-aaaaaaaaaaaaaaaaaaaa", ...rest } = metadata;
  return {
    apiVersion,
    kind: "GameSession",
    metadata: {
      name,
      namespace: "joypod-sessions",
      uid: `uid-of-${name}`,
      resourceVersion: "1",
      generation: 1,
      creationTimestamp: createdAt,
      finalizers: [finalizers.recorder],
      ...rest,
    },
    spec: aGameSessionSpec(spec),
    ...(status === undefined ? {} : { status }),
  };
}

/** Returns a condition of this type, by default True. */
export function aCondition(type: string, overrides: Partial<Condition> = {}): Condition {
  return { type, status: "True", reason: "Tested", message: "", lastTransitionTime: createdAt, ...overrides };
}

/** Returns how a session of a minute was streamed. */
export function aStreamSummary(overrides: Partial<StreamSummary> = {}): StreamSummary {
  return {
    firstPictureSeconds: 6.25,
    viewedSeconds: 60,
    averageFps: 58.3,
    averageKbps: 7850,
    averageLoss: 0.002,
    width: 1280,
    height: 720,
    ...overrides,
  };
}

/** Returns the status of a session that was placed on node1 when it was created. */
export function aPlacedStatus(overrides: Partial<GameSessionStatus> = {}): GameSessionStatus {
  return {
    phase: "Preparing",
    startedAt: createdAt,
    nodeName: "node1",
    ports: { media: 20_000 },
    address: "192.0.2.1",
    placement: { attempt: 1, assignedAt: createdAt, triedNodes: [] },
    conditions: [aCondition("Scheduled")],
    ...overrides,
  };
}

/** Returns the status of a session that has been running since `readyAt`. */
export function aRunningStatus(overrides: Partial<GameSessionStatus> = {}): GameSessionStatus {
  return aPlacedStatus({
    phase: "Running",
    readyAt: after(5).toISOString(),
    podIp: "10.0.0.5",
    podRef: { name: "gs-aaaaaaaaaaaaaaaaaaaa", uid: "uid-of-pod" },
    conditions: ["Scheduled", "ContentReady", "SaveRestored", "PodReady", "StreamReady", "Ready"].map(
      (type) => aCondition(type),
    ),
    ...overrides,
  });
}
