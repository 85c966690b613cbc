import { gameSessions } from "#contracts/crd/resources.ts";
import { isFinished } from "#contracts/crd/sessionConditions.ts";
import { isNotFound } from "#kube/errors.ts";
import { ResourceClient } from "#kube/resourceClient.ts";
import type { Clock } from "#runtime/clock.ts";
import type { Installation } from "../cluster/installation.ts";

/** What became of a session that was to be stopped. */
export interface Stopped {
  name: string;
  outcome: "stopped" | "stopping" | "missing";
  message: string;
}

const lookAgainMs = 500;

/** Deletes the sessions, which ends them gracefully: the game is told, its save is stored. Waits for their ends for so long. Throws KubeError. */
export async function stopSessions({ transport, sessionsNamespace }: Installation, names: readonly string[], waitMs: number, clock: Clock): Promise<Stopped[]> {
  const client = new ResourceClient(transport, gameSessions);
  const endsAtMs = clock.monotonicMs() + waitMs;
  return Promise.all(names.map(async (name): Promise<Stopped> => {
    const ref = { name, namespace: sessionsNamespace };
    try {
      await client.delete(ref);
    } catch (error) {
      if (!isNotFound(error)) throw error;
      return { name, outcome: "missing", message: `There is no session ${name}: \`kubectl joypod sessions\` lists them.` };
    }
    do {
      const session = await client.find(ref);
      if (session === undefined || isFinished(session)) return { name, outcome: "stopped", message: saveSentence(name, session?.status?.save?.final) };
      await clock.sleep(lookAgainMs);
    } while (clock.monotonicMs() < endsAtMs);
    return { name, outcome: "stopping", message: `${name} is still stopping: \`kubectl joypod session ${name}\` tells what it waits for.` };
  }));
}

function saveSentence(name: string, isSaved: boolean | undefined): string {
  return isSaved === true ? `${name} has ended, and its save is stored.` : `${name} has ended.`;
}
