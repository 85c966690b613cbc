import { readFileSync, statSync, writeFileSync } from "node:fs";
import { expect } from "chai";
import { podVolumes, spoolNames } from "#contracts/nodeLayout.ts";
import { eventually } from "#test/support/clocks/eventually.ts";
import { beforeEachWithNodeAgent, type NodeAgentFixture } from "#test/support/fixtures/nodeAgentFixture.ts";

describe("Node agent: a new session of an old one's name", function () {
  this.timeout(90_000);
  let fixture: NodeAgentFixture;

  beforeEachWithNodeAgent(async (fresh) => {
    fixture = fresh;
    await fixture.createGameNode();
  });

  /** The session and its pod go without the agent, as when the node was cut off. */
  async function removeUnheard(name: string): Promise<void> {
    const ref = { name, namespace: fixture.namespace };
    await fixture.sessions.delete(ref);
    await fixture.pods.mergePatch(ref, { metadata: { finalizers: null } });
    await fixture.pods.delete(ref, { gracePeriodSeconds: 0 });
    await eventually(async () => await fixture.pods.find(ref) === undefined, { what: "the pod to be gone" });
  }

  it("gets the folder that its pod has mounted, when what the old one left is stored", async () => {
    await fixture.startAgent({ SAVE_INTERVAL_SECONDS: "600" });
    const source = await fixture.createGame();
    const name = await fixture.launch(source);
    await fixture.ordered(name);
    await fixture.startPod(name);
    await fixture.stopAgent();
    writeFileSync(`${fixture.saves(name)}/progress`, "level 1");
    await fixture.packed(name);
    await fixture.killPacker(name);
    const { ino } = statSync(fixture.folder(name));
    await removeUnheard(name);

    await fixture.launch(source, { saveSlot: { slotId: "next", number: 1, generation: 0 } }, name);
    await fixture.createPod(name, [{ name: podVolumes.spool, hostPath: { path: fixture.folder(name), type: "Directory" } }]);
    const { metadata: { uid } } = await fixture.session(name);
    await fixture.startAgent();
    await eventually(() => readFileSync(`${fixture.folder(name)}/${spoolNames.order}`, "utf8").includes(uid), { timeoutMs: 20_000, what: "the new session's order" });
    expect(statSync(fixture.folder(name)).ino, "the folder").to.equal(ino);
    const [objectKey = ""] = await fixture.storedSaves(`slot-${name}`);
    expect(await fixture.readSaved(objectKey, "progress")).to.equal("level 1");
  });
});
