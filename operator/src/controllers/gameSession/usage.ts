import type { GameSession, SessionUsage } from "#contracts/crd/gameSession.ts";
import type { Pod } from "#kube/builtin.ts";
import { gameAccount, gameTerminated } from "./podState.ts";

/** What the session used, from the containers' last accounts; undefined when none was left, as on a lost node. */
export function usageOf({ status }: GameSession, pod: Pod | undefined, endedAt: Date): SessionUsage | undefined {
  const account = pod && gameAccount(pod);
  if (!pod || !account) return status?.usage;
  const end = gameTerminated(pod)?.finishedAt ?? endedAt.toISOString();
  const durationMs = status?.readyAt === undefined ? 0 : Date.parse(end) - Date.parse(status.readyAt);
  return {
    // The kubelet's times are whole seconds and may lie just before ours.
    durationSeconds: Math.max(0, Math.round(durationMs / 100) / 10),
    cpuSeconds: account.cpuSeconds,
    peakMemoryBytes: account.peakMemoryBytes,
  };
}
