import { type GameSession, gameSessions } from "#contracts/crd/gameSession.ts";
import { isFinished, isSavePending } from "#contracts/crd/sessionState.ts";
import { isNotFound } from "#kube/api/errors.ts";
import { ResourceClient } from "#kube/client/resourceClient.ts";
import type { Clock } from "#runtime/scheduling/clock.ts";
import type { Installation } from "../cluster/installation.ts";
import { failureText } from "./sessionState.ts";

/** What became of a session that was to be stopped. */
export interface Stopped {
  name: string;
  /** `unsaved`: it has ended, and its last save is not stored yet. */
  outcome: "stopped" | "unsaved" | "stopping" | "missing";
  message: string;
}

const lookAgainMs = 500;

/**
 * Deletes the sessions, which ends them gracefully: the game is told, its save is stored. Waits for their
 * ends for so long. Throws KubeError.
 */
export async function stopSessions(
  { transport, sessionsNamespace }: Installation,
  names: readonly string[],
  waitMs: number,
  clock: Clock,
): Promise<Stopped[]> {
  const client = new ResourceClient(transport, gameSessions);
  const endsAtMs = clock.monotonicMs() + waitMs;
  return Promise.all(
    names.map(async (name): Promise<Stopped> => {
      const ref = { name, namespace: sessionsNamespace };
      try {
        await client.delete(ref);
      } catch (error) {
        if (!isNotFound(error)) throw error;
        return {
          name,
          outcome: "missing",
          message: `There is no session ${name}: \`kubectl joypod sessions\` lists them.`,
        };
      }
      do {
        const session = await client.find(ref);
        if (session === undefined || isFinished(session)) return endOf(name, session);
        await clock.sleep(lookAgainMs);
      } while (clock.monotonicMs() < endsAtMs);
      return {
        name,
        outcome: "stopping",
        message: `${name} is still stopping: \`kubectl joypod session ${name}\` tells what it waits for.`,
      };
    }),
  );
}

/** The operator waits for a save for a while only; the node agent goes on storing it. */
function endOf(name: string, session: GameSession | undefined): Stopped {
  if (session !== undefined && isSavePending(session)) {
    const sentence = `${name} has ended; its last save still lies on ${session.status?.nodeName ?? "its node"}.`;
    return { name, outcome: "unsaved", message: [sentence, failureText(session)].filter(Boolean).join(" ") };
  }
  return {
    name,
    outcome: "stopped",
    message:
      session?.status?.save?.final === true
        ? `${name} has ended, and its save is stored.`
        : `${name} has ended.`,
  };
}
