import type { GameSession } from "#contracts/crd/gameSession.ts";
import { isFinished } from "#contracts/crd/sessionConditions.ts";
import { type Pod, isTerminal } from "#kube/api/builtin.ts";
import type { CacheReader } from "#kube/cache/cache.ts";

/** Digests that must stay: those of this node's unfinished sessions, and those that its pods have mounted. */
export function contentInUse(
  gameSessions: CacheReader<GameSession>,
  pods: CacheReader<Pod>,
  objectsPath: string,
): Set<string> {
  const digests = new Set<string>();
  for (const session of gameSessions.list())
    if (!isFinished(session)) digests.add(session.spec.contentDigest);
  for (const pod of pods.list()) {
    if (isTerminal(pod)) continue;
    for (const { hostPath } of pod.spec?.volumes ?? []) {
      if (hostPath?.path.startsWith(`${objectsPath}/`) !== true) continue;
      digests.add(hostPath.path.slice(objectsPath.length + 1).split("/")[0] ?? "");
    }
  }
  return digests;
}
