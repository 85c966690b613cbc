import { type GameSession, gameSessions } from "#contracts/crd/gameSession.ts";
import type { PlannedEnd } from "#contracts/crd/gameSessionSpec.ts";
import { isFinished } from "#contracts/crd/sessionState.ts";
import { isNotFound } from "#kube/api/errors.ts";
import type { Stored } from "#kube/api/object.ts";
import { ResourceClient } from "#kube/client/resourceClient.ts";
import type { Installation } from "../cluster/installation.ts";

/** Selects sessions that have not ended. */
type SessionFilter = (session: Stored<GameSession>) => boolean;

/** Returns the sessions that have not ended. */
export async function unfinishedSessions(
  { transport, sessionsNamespace }: Installation,
  isMeant: SessionFilter,
): Promise<Stored<GameSession>[]> {
  const { items } = await new ResourceClient(transport, gameSessions).listAll({
    namespace: sessionsNamespace,
  });
  return items.filter((session) => !isFinished(session) && isMeant(session));
}

/**
 * Plans the end of the sessions, which tells their players. The operator stops them at that time, whether the
 * plugin still runs or not. A session that is stopping, or whose planned end is earlier, keeps it. Returns
 * the names of the changed sessions.
 */
export async function planEnds(
  installation: Installation,
  sessions: readonly Stored<GameSession>[],
  end: PlannedEnd,
): Promise<string[]> {
  const changed = sessions.filter(
    ({ metadata, spec }) =>
      spec.desiredState !== "Stopped" &&
      metadata.deletionTimestamp === undefined &&
      (spec.plannedEnd === undefined || Date.parse(spec.plannedEnd.at) > Date.parse(end.at)),
  );
  await patchEnds(installation, changed, { ...end, message: end.message ?? null });
  return changed.map(({ metadata }) => metadata.name);
}

/** Cancels planned ends with this reason. Returns the names of the changed sessions. */
export async function cancelEnds(
  installation: Installation,
  reason: PlannedEnd["reason"],
  isMeant: SessionFilter = () => true,
): Promise<string[]> {
  const sessions = await unfinishedSessions(
    installation,
    (session) => session.spec.plannedEnd?.reason === reason && isMeant(session),
  );
  await patchEnds(installation, sessions, null);
  return sessions.map(({ metadata }) => metadata.name);
}

async function patchEnds(
  { transport, sessionsNamespace: namespace }: Installation,
  sessions: readonly Stored<GameSession>[],
  plannedEnd: object | null,
): Promise<void> {
  const client = new ResourceClient(transport, gameSessions);
  for (const { metadata } of sessions) {
    try {
      await client.mergePatch({ name: metadata.name, namespace }, { spec: { plannedEnd } });
    } catch (error) {
      if (!isNotFound(error)) throw error; // It has ended since.
    }
  }
}
