import { type GameSession, gameSessions } from "#contracts/crd/gameSession.ts";
import { isFinished, isSavePending } from "#contracts/crd/sessionState.ts";
import { isNotFound } from "#kube/api/errors.ts";
import { ResourceClient } from "#kube/client/resourceClient.ts";
import type { Clock } from "#runtime/scheduling/clock.ts";
import type { Installation } from "../cluster/installation.ts";
import { failureText } from "./sessionState.ts";

/** The result of stopping a session. */
export interface Stopped {
  name: string;
  /** `unsaved`: the session has ended, but its last save is not stored yet. */
  outcome: "stopped" | "unsaved" | "stopping" | "missing";
  message: string;
}

const pollMs = 500;

/**
 * Deletes the sessions, which ends them gracefully, and waits up to `waitMs` for them to end.
 *
 * @throws KubeError
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
          message: `Session ${name} was not found. Run \`kubectl joypod sessions\` for a list.`,
        };
      }
      do {
        const session = await client.find(ref);
        if (session === undefined || isFinished(session)) return endOf(name, session);
        await clock.sleep(pollMs);
      } while (clock.monotonicMs() < endsAtMs);
      return {
        name,
        outcome: "stopping",
        message: `${name} is still stopping. Run \`kubectl joypod session ${name}\` to see what it waits for.`,
      };
    }),
  );
}

/** The operator waits for the save only for a limited time; the node agent keeps trying to store it. */
function endOf(name: string, session: GameSession | undefined): Stopped {
  if (session !== undefined && isSavePending(session)) {
    const sentence = `${name} has ended. Its last save is still on ${session.status?.nodeName ?? "its node"}.`;
    return { name, outcome: "unsaved", message: [sentence, failureText(session)].filter(Boolean).join(" ") };
  }
  return {
    name,
    outcome: "stopped",
    message:
      session?.status?.save?.final === true ? `${name} has ended. Its save is stored.` : `${name} has ended.`,
  };
}
