import { type GameSession, gameSessions } from "#contracts/crd/gameSession.ts";
import { stopReasons } from "#contracts/crd/gameSessionReasons.ts";
import { isFinished } from "#contracts/crd/sessionState.ts";
import { ObjectCache } from "#kube/cache/cache.ts";
import { Reflector } from "#kube/cache/reflector.ts";
import { ResourceClient } from "#kube/client/resourceClient.ts";
import { sleepUntilAborted, type Clock } from "#runtime/scheduling/clock.ts";
import type { Installation } from "../cluster/installation.ts";
import { ageText } from "../output.ts";
import { table } from "#runtime/textTable.ts";
import { failureText, phaseOf } from "./sessionState.ts";

/** Returns a table of sessions, oldest first. */
export function sessionTable(sessions: readonly GameSession[], now: Date): string {
  const rows = sessions
    .toSorted((a, b) =>
      (a.metadata.creationTimestamp ?? "").localeCompare(b.metadata.creationTimestamp ?? ""),
    )
    .map((session) => {
      const { metadata, spec, status } = session;
      return [
        metadata.name,
        phaseOf(session),
        spec.gameCacheRef.name,
        status?.nodeName,
        status?.ports?.media,
        ageText(metadata.creationTimestamp, now),
        reasonOf(session),
      ];
    });
  return rows.length === 0
    ? "There are no sessions."
    : table(["NAME", "PHASE", "GAME", "NODE", "PORT", "AGE", "REASON"], rows);
}

/** Returns what a session waits for or why it ended; undefined for a running session. */
function reasonOf(session: GameSession): string | undefined {
  const { status, spec } = session;
  const failure = failureText(session);
  if (failure !== undefined) return failure;
  if (isFinished(session) || status?.stoppingAt !== undefined) return status?.stopReason;
  if (phaseOf(session) === "Stopping") return spec.stopReason ?? stopReasons.deleted;
  const ready = status?.conditions?.find(({ type }) => type === "Ready");
  return ready === undefined || ready.status === "True"
    ? undefined
    : ready.message === ""
      ? ready.reason
      : ready.message;
}

/** Options of `sessions --watch`. */
export interface WatchOptions {
  clock: Clock;
  print: (text: string) => void;
  signal: AbortSignal;
}

/** Prints the table of sessions now and after each change, at most once per second, until aborted. */
export async function watchSessions(
  { transport, sessionsNamespace, now }: Installation,
  { clock, print, signal }: WatchOptions,
): Promise<void> {
  const client = new ResourceClient(transport, gameSessions);
  // Fail now if access is denied: a reflector would retry forever.
  await client.list({ namespace: sessionsNamespace, limit: 1 });
  const cache = new ObjectCache<GameSession>();
  const reflector = new Reflector<GameSession>({ client, cache, namespace: sessionsNamespace, clock });
  reflector.start();
  try {
    await reflector.waitForSync(signal);
    for (let shown = ""; ;) {
      const text = sessionTable(cache.list(), now());
      if (withoutAges(text) !== withoutAges(shown)) print(`${now().toISOString()}\n${text}\n`);
      shown = text;
      if (!(await sleepUntilAborted(clock, 1_000, signal))) return;
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    await reflector.stop();
  }
}

/** Removes ages, so that passing time does not count as a change. */
function withoutAges(text: string): string {
  return text.replaceAll(/ +\d+[smhd](?= |$)/gm, "");
}
