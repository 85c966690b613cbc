import { expect } from "chai";
import { isConditionTrue } from "#kube/api/conditions.ts";
import { eventually } from "#test/support/clocks/eventually.ts";
import { readDiary, type DiarySession } from "#test/e2e/support/diarySession.ts";
import { NodeFault, type Phases } from "#test/e2e/support/nodeFault.ts";
import { platform } from "#test/e2e/support/platform.ts";

const label = "nvidia.com/gpu.present";
const taint = "joypod.test/repair";

describe("a game node that an admin changes while sessions are starting, running and stopping", () => {
  const faults = NodeFault.ofSuite();

  const kubectl = async (...args: string[]): Promise<string> => (await platform()).kubectl(args);

  /** The stop goes on as if nothing had happened, and whoever launches now plays on the other node. */
  async function takesNoOthers({ stopping }: Phases): Promise<DiarySession> {
    const { status } = await stopping.finishes();
    expect(status?.save?.final, JSON.stringify(status)).to.equal(true);
    expect(status?.failure, "of the session that was told to stop").to.equal(undefined);
    const next = await stopping.player.launch();
    expect(await next.placedOn()).to.equal(faults.other.name);
    await next.runs();
    return next;
  }

  async function isLeftAlone({ playing, podUid, neighbour }: Phases): Promise<void> {
    for (const session of [playing, neighbour])
      expect((await session.player.http.status(session.id)).status).to.equal("running");
    expect(await playing.podUid(), "the pod").to.equal(podUid);
  }

  async function endsWithItsSave(session: DiarySession): Promise<void> {
    await session.stop();
    const { status } = await session.finishes();
    expect(status?.save?.final, JSON.stringify(status)).to.equal(true);
  }

  it("by a cordon keeps its sessions, and gets no others", async () => {
    const phases = await faults.phases();
    faults.repairAfter(() => kubectl("uncordon", faults.node.name));
    await kubectl("cordon", faults.node.name);
    await faults.node.takesSessions(false);
    const next = await takesNoOthers(phases);
    await isLeftAlone(phases);
    for (const session of [next, phases.playing, phases.neighbour]) await endsWithItsSave(session);
    await kubectl("uncordon", faults.node.name);
    await faults.node.takesSessions(true);
    await faults.expectOrder(phases.playing, phases.stopping, phases.neighbour, next);
  });

  it("by removing its label keeps its sessions and its agent until the last save is stored", async () => {
    const phases = await faults.phases();
    const { name } = faults.node;
    faults.repairAfter(() => kubectl("label", "node", name, "--overwrite", `${label}=true`));
    const agent = await faults.node.agentLife();
    await kubectl("label", "node", name, `${label}-`);
    const { gameNodes } = await platform();
    await eventually(
      async () => isConditionTrue((await gameNodes.get({ name })).status?.conditions, "Draining"),
      { what: `${name} to be draining` },
    );
    const next = await takesNoOthers(phases);
    await isLeftAlone(phases);
    expect((await faults.node.agentLife()).uid, "the agent's pod").to.equal(agent.uid);
    for (const session of [next, phases.playing, phases.neighbour]) await endsWithItsSave(session);
    await eventually(async () => (await gameNodes.find({ name })) === undefined, {
      timeoutMs: 60_000,
      intervalMs: 500,
      what: `${name} to be a game node no more`,
    });

    await kubectl("label", "node", name, `${label}=true`);
    await eventually(async () => (await gameNodes.find({ name })) !== undefined, {
      timeoutMs: 60_000,
      intervalMs: 500,
      what: `${name} to be a game node again`,
    });
    await faults.node.takesSessions(true);
    const again = await faults.launchOn(faults.node, phases.playing.player);
    await again.runs();
    await endsWithItsSave(again);
    await faults.expectOrder(phases.playing, phases.stopping, phases.neighbour, next, again);
  });

  it("by a NoExecute taint ends its sessions with their saves, and they continue elsewhere", async () => {
    const phases = await faults.phases();
    const { playing, stopping, neighbour } = phases;
    faults.repairAfter(() => kubectl("taint", "node", faults.node.name, `${taint}-`).catch(() => undefined));
    const agent = await faults.node.agentLife();
    await kubectl("taint", "node", faults.node.name, `${taint}=true:NoExecute`);
    const { status } = await playing.finishes();
    expect(status?.failure?.reason).to.equal("PodEvicted");
    expect(status?.save?.final, JSON.stringify(status)).to.equal(true);
    expect(await readDiary(status?.save?.objectKey ?? "")).to.deep.equal([playing.id]);
    expect((await faults.node.agentLife()).uid, "the agent's pod").to.equal(agent.uid);
    const stopped = await stopping.finishes();
    expect(stopped.status?.save?.final, JSON.stringify(stopped.status)).to.equal(true);
    await playing.player.isFree();
    const next = await playing.player.play();
    expect(await next.placedOn()).to.equal(faults.other.name);
    expect((await neighbour.player.http.status(neighbour.id)).status).to.equal("running");
    for (const session of [next, neighbour]) await endsWithItsSave(session);
    await kubectl("taint", "node", faults.node.name, `${taint}-`);
    await faults.node.takesSessions(true);
    await faults.expectOrder(playing, stopping, neighbour, next);
  });
});
