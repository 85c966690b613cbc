import { expect } from "chai";
import { findCondition } from "#kube/api/conditions.ts";
import { eventually } from "#test/support/clocks/eventually.ts";
import { GameNodeHost } from "./gameNodeHost.ts";
import { publishHostile, type HostileAct } from "./hostileGame.ts";
import { hostileSessionsOfSuite, type HostileSession } from "./hostileSession.ts";
import { Neighbour } from "./neighbour.ts";
import { Players } from "./players.ts";
import { readStoredSave } from "./storedSave.ts";

const mebibyte = 2 ** 20;

/**
 * At most two acts, one on each node next to a neighbour. `worst` matches each game's line after its worst
 * action. The act `names` may be ended by its memory limit.
 */
export interface HostileRound {
  acts: HostileAct[];
  worst: RegExp[];
}

/**
 * Registers a test for each round in the calling suite. Returns the neighbours, one on each node, that play
 * during the rounds.
 */
export function hostileSavesOfSuite(rounds: readonly HostileRound[]): readonly Neighbour[] {
  const launch = hostileSessionsOfSuite();
  const players = new Players();
  const neighbours: Neighbour[] = [];
  let slugs: Record<string, string>;
  let presses = 0;

  before(async () => {
    slugs = await publishHostile(...rounds.flatMap(({ acts }) => acts));
    for (let count = 0; count < 2; count++) neighbours.push(await Neighbour.moveIn(players));
    expect(new Set(neighbours.map(({ nodeName }) => nodeName)).size, "nodes with a neighbour").to.equal(2);
  });

  after(async () => {
    await players.discard();
  });

  for (const { acts, worst } of rounds) {
    it(`of "${acts.join('" and "')}" are stored or refused with a reason, and harm neither node nor neighbour`, async () => {
      const sessions = await Promise.all(acts.map(async (act) => launch(slugs[act] ?? "")));
      const hosts = await Promise.all(
        sessions.map(async (session) => new GameNodeHost(await session.nodeName())),
      );
      expect(new Set(hosts.map(({ name }) => name)).size, "nodes with a hostile game").to.equal(acts.length);
      await Promise.all(sessions.map((session) => session.storesProgress()));
      const before = await Promise.all(hosts.map((host) => lookAt(host)));

      await Promise.all(sessions.map((session) => session.begin()));
      const rates = Promise.all(neighbours.map((neighbour) => neighbour.frameRate(10)));
      await Promise.all(sessions.map((session, index) => session.tells(worst[index] ?? /never/, 60_000)));
      for (const rate of await rates) expect(rate, "the neighbour's frames a second").to.be.greaterThan(5);
      presses += 1;
      for (const neighbour of neighbours) await neighbour.plays(presses - 1);

      await Promise.all(sessions.map((session) => session.finish()));
      await Promise.all(sessions.map((session) => expectSaved(session)));
      for (const [index, host] of hosts.entries()) await expectUnharmed(host, before[index], sessions[index]);
    });
  }

  return neighbours;
}

interface Look {
  agent: { uid: string; restarts: number };
  agentRss: number;
  kubeletRss: number;
  disk: number;
}

async function lookAt(host: GameNodeHost): Promise<Look> {
  const [agent, agentRss, kubeletRss, disk] = await Promise.all([
    host.agentLife(),
    host.agentRssBytes(),
    host.kubeletRssBytes(),
    host.diskBytes(),
  ]);
  return { agent, agentRss, kubeletRss, disk };
}

/**
 * Expects that the last state, or the good one before it, is stored, and that the player is told which. This
 * may happen shortly after the session's end, if gigabytes written by the game keep the disk busy longer than
 * an end waits for its save.
 */
async function expectSaved(session: HostileSession): Promise<void> {
  const { id, player } = session;
  const { status } = await session.persistsSave();
  const persisted = findCondition(status?.conditions ?? [], "SavePersisted");
  const story = `${id}: ${JSON.stringify(status)}`;
  expect(persisted?.reason, story).to.match(/^[A-Z]\w+$/);
  const save = status?.save;
  expect(await readStoredSave(save?.objectKey ?? "", "progress"), story).to.equal("half way\n");
  expect(await readStoredSave(save?.objectKey ?? "", "passwd"), story).to.equal(undefined);
  if (save?.final === true) return;
  expect(persisted?.message, story).to.not.equal("");
  const told = await eventually(
    async () => {
      const status = await player.status(id);
      return status.status === "stopped" && status;
    },
    { timeoutMs: 30_000, intervalMs: 500, what: `${id} to be told as stopped` },
  );
  expect(told.message, `what the player of ${id} is told`).to.be.a("string").and.not.equal("");
}

async function expectUnharmed(
  host: GameNodeHost,
  before: Look | undefined,
  session: HostileSession | undefined,
): Promise<void> {
  const id = session?.id ?? "";
  await host.forgets(id);
  const after = await lookAt(host);
  console.log(
    `      ${host.name}: agent ${mib(before?.agentRss)} → ${mib(after.agentRss)}, kubelet ${mib(before?.kubeletRss)} → ${mib(after.kubeletRss)}`,
  );
  expect(after.agent.uid, "the agent's pod").to.equal(before?.agent.uid);
  expect(after.agent.restarts, "restarts of the agent").to.equal(before?.agent.restarts);
  expect(after.agentRss - (before?.agentRss ?? 0), "growth of the agent's memory").to.be.at.most(
    32 * mebibyte,
  );
  expect(after.disk - (before?.disk ?? 0), "growth of the node's folder").to.be.at.most(32 * mebibyte);
  expect((await host.agentWarnings(id)).length, "the agent's warnings").to.be.at.most(3);
}

function mib(bytes = 0): string {
  return `${Math.round(bytes / mebibyte)} MiB`;
}
