import { type GameSession, gameSessions } from "#contracts/crd/gameSession.ts";
import type { PlannedEnd } from "#contracts/crd/gameSessionSpec.ts";
import { isFinished, isSavePending } from "#contracts/crd/sessionState.ts";
import { nodes } from "#kube/api/builtin.ts";
import { ResourceClient } from "#kube/client/resourceClient.ts";
import { sleepUntilAborted, type Clock } from "#runtime/scheduling/clock.ts";
import { AdminError } from "../adminError.ts";
import type { Installation } from "../cluster/installation.ts";
import { cancelEnds, planEnds, unfinishedSessions } from "./plannedEnds.ts";

const pollMs = 2_000;
/** The operator waits this long at most for a save, and the recorder needs a moment. */
const stopMarginMs = 180_000;

/** Options of drainNode. */
export interface DrainOptions {
  nodeName: string;
  /** How long players may go on. */
  patienceMs: number;
  message: string | undefined;
}

/** What a drain needs of the program. */
interface DrainEnvironment {
  clock: Clock;
  print: (text: string) => void;
  signal: AbortSignal;
}

/**
 * Cordons the node, tells the players on it when their games end, and waits until none is left. The operator
 * ends the games at that time, so an interrupted drain continues in the cluster; running it again resumes the
 * wait. A session that is placed there meanwhile, by a launch in progress, is told as well.
 *
 * @throws AdminError if saves are left on the node, or sessions are still stopping.
 */
export async function drainNode(
  installation: Installation,
  { nodeName, patienceMs, message }: DrainOptions,
  { clock, print, signal }: DrainEnvironment,
): Promise<void> {
  await setCordoned(installation, nodeName, true);
  print(`${nodeName} is cordoned: it takes no new sessions.`);
  const atMs = installation.now().getTime() + patienceMs;
  const end: PlannedEnd = {
    at: new Date(atMs).toISOString(),
    reason: "Drained",
    ...(message !== undefined && { message }),
  };
  const givesUpAtMs = clock.monotonicMs() + patienceMs + stopMarginMs;
  let shown = "";
  for (;;) {
    const left = await unfinishedSessions(installation, isOn(nodeName));
    await planEnds(installation, left, end);
    const line = left.length === 0 ? "" : progressOf(left.length, end.at);
    if (line !== shown && line !== "") print(line);
    shown = line;
    if (left.length === 0) break;
    if (clock.monotonicMs() >= givesUpAtMs)
      throw new AdminError(
        `Some games on ${nodeName} are still stopping. Run \`kubectl joypod sessions\` to see what they wait for.`,
      );
    if (!(await sleepUntilAborted(clock, pollMs, signal)))
      throw new AdminError(
        `The games on ${nodeName} still end at ${end.at}. Run \`kubectl joypod drain ${nodeName} --cancel\` to let them go on.`,
      );
  }
  const unsaved = await sessionsWithUnstoredSave(installation, nodeName);
  if (unsaved.length > 0)
    throw new AdminError(
      `No game runs on ${nodeName}, but the last save of ${unsaved.join(", ")} is still on its disk. Keep the node until \`kubectl joypod status\` shows no save on it.`,
    );
  print(
    `${nodeName} is drained: no game runs on it, and all saves are stored. Run \`kubectl uncordon ${nodeName}\` when it may take sessions again.`,
  );
}

/** Uncordons the node and lets the games on it go on. */
export async function cancelDrain(
  installation: Installation,
  nodeName: string,
  { print }: Pick<DrainEnvironment, "print">,
): Promise<void> {
  await setCordoned(installation, nodeName, false);
  const kept = await cancelEnds(installation, "Drained", isOn(nodeName));
  print(`${nodeName} takes sessions again. Players who can go on: ${kept.length}.`);
}

async function setCordoned({ transport }: Installation, name: string, isCordoned: boolean): Promise<void> {
  await new ResourceClient(transport, nodes).mergePatch({ name }, { spec: { unschedulable: isCordoned } });
}

async function sessionsWithUnstoredSave(
  { transport, sessionsNamespace }: Installation,
  nodeName: string,
): Promise<string[]> {
  const { items } = await new ResourceClient(transport, gameSessions).listAll({
    namespace: sessionsNamespace,
  });
  return items
    .filter((session) => isOn(nodeName)(session) && isFinished(session) && isSavePending(session))
    .map(({ metadata }) => metadata.name);
}

function isOn(nodeName: string): (session: GameSession) => boolean {
  return ({ status }) => status?.nodeName === nodeName;
}

function progressOf(sessions: number, at: string): string {
  return `${sessions === 1 ? "1 game is" : `${sessions} games are`} played. Players were told that they end at ${at}.`;
}
