import { expect } from "chai";
import type { GameNodeHost } from "#test/e2e/support/gameNodeHost.ts";
import { promisedMs, readDiary, type DiarySession } from "#test/e2e/support/diarySession.ts";
import { NodeFault } from "#test/e2e/support/nodeFault.ts";

describe("a game node that stops responding", () => {
  const faults = NodeFault.ofSuite();

  /** The same pod plays, and its player is told so. */
  async function goesOn(session: DiarySession, podUid: string): Promise<void> {
    expect((await session.player.http.status(session.id)).status).to.equal("running");
    expect(await session.podUid(), "the pod").to.equal(podUid);
  }

  async function endsByLoss(session: DiarySession): Promise<void> {
    const { status } = await session.finishes();
    expect(status?.failure?.reason).to.equal("NodeLost");
    await session.player.isFree();
  }

  /** Its last save may have been stored in the moments before the fault. */
  async function endsSoon(session: DiarySession): Promise<void> {
    const { status } = await session.finishes();
    expect(
      status?.save?.final === true || status?.failure?.reason === "NodeLost",
      JSON.stringify(status),
    ).to.equal(true);
    await session.player.isFree();
  }

  const signals: [string, (host: GameNodeHost) => Promise<void>][] = [
    ["kubelet", (host) => host.silenceKubelet()],
    ["agent", (host) => host.silenceAgent()],
  ];
  for (const [signal, silence] of signals) {
    it(`because only its ${signal} hangs keeps the running game, delays no player who stops, and stores both saves when it responds again`, async () => {
      const { playing, podUid, stopping, neighbour } = await faults.phases();
      await silence(faults.node);
      await stopping.player.isFree();
      await faults.node.takesSessions(false);
      await goesOn(playing, podUid);
      await goesOn(neighbour, await neighbour.podUid());
      await stopping.player.playsOn({ fresh: true });

      await faults.node.heal();
      const { id: slot } = await stopping.player.freeSlot();
      expect(await stopping.player.playsOn({ saveSlotId: slot })).to.include(stopping.id);
      await goesOn(playing, podUid);
      await playing.stop();
      const { status } = await playing.finishes();
      expect(status?.save?.final, JSON.stringify(status)).to.equal(true);
      await neighbour.stop();
      await faults.expectOrder(playing, stopping, neighbour);
    });
  }

  it("because its kubelet or agent hangs for some seconds runs a starting session as soon as it responds again", async () => {
    const [first, second] = [await faults.player(), await faults.player()];
    const withoutKubelet = await faults.launchOn(faults.node, first, () => faults.node.silenceKubelet());
    await faults.node.takesSessions(false);
    await faults.other.silenceAgent();
    const withoutAgent = await second.launch();
    expect(await withoutAgent.placedOn()).to.equal(faults.other.name);
    for (const host of [faults.node, faults.other]) await host.heal();
    for (const session of [withoutKubelet, withoutAgent]) {
      await session.runs();
      await session.stop();
    }
    await faults.expectOrder(withoutKubelet, withoutAgent);
  });

  it("because kubelet and agent hang ends a starting session within a minute, and its player plays on the other node", async () => {
    const player = await faults.player();
    const session = await faults.launchOn(faults.node, player, () => faults.node.silence());
    await endsByLoss(session);
    const next = await player.play();
    expect(await next.placedOn()).to.equal(faults.other.name);
    await next.stop();
    await faults.node.heal();
    await faults.expectOrder(session, next);
  });

  it("because kubelet and agent hang, and returns, does not overwrite the session that continued elsewhere, and its late save becomes a conflict copy", async () => {
    const { playing: lost, stopping, neighbour } = await faults.phases();
    await faults.node.silence();
    await Promise.all([endsByLoss(lost), endsSoon(stopping)]);
    const { player } = lost;
    const { id: slot } = await player.freeSlot();
    const next = await player.play({ saveSlotId: slot });
    expect(await next.placedOn()).to.equal(faults.other.name);
    await next.writes();

    await faults.node.heal();
    await player.hasConflict();
    await next.stop();
    await next.finishes();
    await player.freeSlot();
    expect(await player.playsOn({ saveSlotId: slot })).to.include.members([lost.id, next.id]);
    await player.hasConflict();
    await stopping.player.freeSlot();
    expect((await neighbour.player.http.status(neighbour.id)).status).to.equal("running");
    await neighbour.stop();
    await faults.expectOrder(lost, stopping, next, neighbour);
  });

  it("because it is frozen for some seconds keeps its games", async () => {
    const { playing, podUid, stopping, neighbour } = await faults.phases();
    await faults.node.freeze();
    await faults.node.takesSessions(false);
    await faults.node.heal();
    await goesOn(playing, podUid);
    const { status } = await stopping.finishes();
    expect(status?.save?.final, JSON.stringify(status)).to.equal(true);
    await Promise.all([playing.stop(), neighbour.stop()]);
    await faults.expectOrder(playing, stopping, neighbour);
  });

  it("because it is frozen ends its sessions within a minute, and keeps nothing of them when it is back", async () => {
    const { playing, stopping, neighbour } = await faults.phases();
    await faults.node.freeze();
    const frozenAt = performance.now();
    await Promise.all([endsByLoss(playing), endsSoon(stopping)]);
    expect(performance.now() - frozenAt, "milliseconds to the end").to.be.lessThan(promisedMs);
    expect((await neighbour.player.http.status(neighbour.id)).status).to.equal("running");
    const { id: slot } = await playing.player.freeSlot();
    const next = await playing.player.play({ saveSlotId: slot });
    await next.writes();
    await faults.node.heal();
    await next.stop();
    const { status } = await next.finishes();
    expect(await readDiary(status?.save?.objectKey ?? "")).to.deep.equal([playing.id, next.id]);
    await neighbour.stop();
    await faults.expectOrder(playing, stopping, next, neighbour);
  });
});
