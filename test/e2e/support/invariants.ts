import { labels } from "#contracts/crd/names.ts";
import { isFinished } from "#contracts/crd/sessionState.ts";
import { eventually } from "#test/support/clocks/eventually.ts";
import type { GameNodeHost } from "./gameNodeHost.ts";
import { platform, releaseNamespace, sessionsNamespace } from "./platform.ts";

/** How long remains of a session may exist: the grace period of a pod is two minutes. */
const cleanUpMs = 150_000;

/**
 * Waits until all state about sessions is consistent: at most one active session per player, an object for
 * each active row and for no other, pods only for active sessions, and correct slot counts of nodes. Of the
 * ended sessions, no pod, no folder on a node and no owned save slot may remain.
 */
export async function expectOrder(hosts: readonly GameNodeHost[], ended: readonly string[]): Promise<void> {
  await eventually(
    async () => {
      const disorder = await findDisorder(ended);
      if (disorder.length > 0) throw new Error(disorder.join("; "));
      return true;
    },
    { timeoutMs: cleanUpMs, intervalMs: 1000, what: "order among sessions" },
  );
  for (const host of hosts) for (const id of ended) await host.forgets(id);
}

async function findDisorder(ended: readonly string[]): Promise<string[]> {
  const installed = await platform();
  const ref = { namespace: sessionsNamespace };
  const [rows, { items: objects }, { items: pods }, { items: nodes }] = await Promise.all([
    readRows(),
    installed.gameSessions.list(ref),
    installed.pods.list({ ...ref, labelSelector: labels.gameSession }),
    installed.gameNodes.list({}),
  ]);
  const active = rows.filter(({ isEnded }) => !isEnded);
  const unfinished = objects.filter((session) => !isFinished(session));
  const ids = (items: readonly { metadata: { name: string } }[]): string[] =>
    items.map(({ metadata }) => metadata.name);
  const known = new Set(rows.map(({ id }) => id));
  return [
    ...repeated(active.map(({ userId }) => userId)).map((user) => `${user} has two active sessions`),
    ...active
      .filter(({ id }) => !ids(objects).includes(id))
      .map(({ id }) => `${id} is active and has no object`),
    ...ids(objects)
      .filter((id) => !known.has(id))
      .map((id) => `${id} has an object and no row`),
    ...ids(pods)
      .filter((id) => !ids(unfinished).includes(id))
      .map((id) => `${id} has a pod and is over`),
    ...rows
      .filter(({ id, isOwner }) => ended.includes(id) && isOwner)
      .map(({ id }) => `${id} is over and owns its save slot`),
    ...ids(unfinished)
      .filter((id) => ended.includes(id))
      .map((id) => `${id} has not ended`),
    ...nodes.flatMap(({ metadata: { name }, status }) => {
      const here = unfinished.filter((session) => session.status?.nodeName === name).length;
      const used = status?.capacity?.used ?? 0;
      return used === here ? [] : [`${name} counts ${used} sessions and has ${here}`];
    }),
  ];
}

interface Row {
  id: string;
  userId: string;
  isEnded: boolean;
  isOwner: boolean;
}

/** Reads the sessions of the last hour from the database. */
async function readRows(): Promise<Row[]> {
  const query = `SELECT id, user_id, ended_at IS NOT NULL, slot_id IS NOT NULL AND slot_released_at IS NULL FROM game_sessions
    WHERE ended_at IS NULL OR ended_at > now() - interval '1 hour'`;
  const printed = await (
    await platform()
  ).kubectl([
    "-n",
    releaseNamespace,
    "exec",
    "statefulset/joypod-postgres",
    "--",
    "psql",
    "--username",
    "joypod",
    "--dbname",
    "joypod",
    "-AtF",
    ",",
    "-c",
    query,
  ]);
  return printed
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => {
      const [id = "", userId = "", isEnded, isOwner] = line.split(",");
      return { id, userId, isEnded: isEnded === "t", isOwner: isOwner === "t" };
    });
}

function repeated(values: readonly string[]): string[] {
  return values.filter((value, index) => values.indexOf(value) !== index);
}
