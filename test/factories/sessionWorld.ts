import type { GameSessionStatus } from "#contracts/crd/gameSession.ts";
import type { GameSessionSpec } from "#contracts/crd/gameSessionSpec.ts";
import type { Pod } from "#kube/api/builtin.ts";
import type { Stored } from "#kube/api/object.ts";
import type { SessionWorld } from "#operator/controllers/gameSession/world.ts";
import { unschedulable } from "#operator/sessionPods/podState.ts";
import { aGameSession, after, createdAt } from "./gameSession.ts";
import { aSessionPod } from "./sessionPod.ts";

/** Differences from a new session. */
export interface ObservedSession {
  now?: Date;
  /** The last keepalive, which has moved the expiry. */
  keptAliveAt?: Date;
  spec?: Partial<GameSessionSpec>;
  metadata?: { deletionTimestamp?: string };
  status?: GameSessionStatus;
  pod?: Parameters<typeof aSessionPod>[1] | Stored<Pod>;
  nodeHealth?: SessionWorld["nodeHealth"];
  isAgentSilent?: boolean;
  isInputIdle?: boolean;
  isContentCached?: boolean;
  internet?: SessionWorld["internet"];
}

/** Returns what the operator observes of a session. */
export function aSessionWorld({
  now = after(10),
  keptAliveAt,
  spec = {},
  metadata = {},
  status,
  pod,
  nodeHealth = "Healthy",
  isAgentSilent = false,
  isInputIdle = false,
  isContentCached = false,
  internet = "NotAllowed",
}: ObservedSession): SessionWorld {
  const session = aGameSession({ spec, metadata, ...(status === undefined ? {} : { status }) });
  const stored = pod === undefined ? undefined : "kind" in pod ? pod : aSessionPod(session, pod);
  const seenAtMs = {
    ...seenInTime(session, stored),
    ...(keptAliveAt === undefined ? {} : { expiresAt: keptAliveAt.getTime() }),
  };
  return {
    now,
    nowMs: now.getTime(),
    seenAtMs,
    session,
    pod: stored,
    isContentCached,
    playable: undefined,
    isInputIdle,
    idleEndsAtMs: undefined,
    nodeHealth,
    isAgentSilent,
    internet,
    timing: { unschedulableMs: 10_000, saveGiveUpMs: 600_000 },
  };
}

/** Returns the times at which the operator saw each moment, as if it had no delay and the same clock. */
function seenInTime(session: SessionWorld["session"], pod: SessionWorld["pod"]): SessionWorld["seenAtMs"] {
  const { status, metadata, spec } = session;
  const times = {
    startedAt: status?.startedAt,
    assignedAt: status?.placement?.assignedAt,
    unschedulableSince: pod && unschedulable(pod)?.since,
    readyAt: status?.readyAt,
    expiresAt: spec.expiresAt && createdAt,
    stopping: status?.stoppingAt ?? metadata.deletionTimestamp,
    finishedAt: status?.finishedAt,
  };
  return Object.fromEntries(
    Object.entries(times).flatMap(([moment, time]) =>
      time === undefined ? [] : [[moment, Date.parse(time)]],
    ),
  );
}
