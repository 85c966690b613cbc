import type { GameSession } from "#contracts/crd/gameSession.ts";
import { isFinished } from "#contracts/crd/sessionConditions.ts";
import type { Pod } from "#kube/api/builtin.ts";
import type { Stored } from "#kube/api/object.ts";
import { unschedulable } from "../../sessionPods/podState.ts";
import { hasStopBegun } from "./deadlines.ts";
import type { NotedMoments } from "./moments.ts";

/**
 * Returns the moments of a session that something waits from. Another session of its name, or another pod,
 * may have the same times.
 */
export function notedMoments(session: Stored<GameSession>, pod: Stored<Pod> | undefined): NotedMoments {
  const {
    metadata: { uid },
    spec,
    status,
  } = session;
  if (isFinished(session)) return { finishedAt: uid };
  const stuck = pod && unschedulable(pod);
  return {
    ...(status?.startedAt === undefined ? {} : { startedAt: `${uid} ${status.startedAt}` }),
    ...(status?.placement === undefined ? {} : { assignedAt: `${uid} ${status.placement.assignedAt}` }),
    ...(stuck ? { unschedulableSince: `${pod.metadata.uid} ${stuck.since}` } : {}),
    ...(status?.readyAt === undefined ? {} : { readyAt: uid }),
    ...(spec.expiresAt === undefined ? {} : { expiresAt: `${uid} ${spec.expiresAt}` }),
    ...(hasStopBegun({ session, pod }) ? { stopping: uid } : {}),
  };
}
