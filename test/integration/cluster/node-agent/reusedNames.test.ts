import { closeSync, fstatSync, openSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { expect } from "chai";
import type { ArchiveSource } from "#contracts/crd/gameCache.ts";
import { podVolumes, spoolNames } from "#contracts/nodeLayout.ts";
import { eventually } from "#test/support/clocks/eventually.ts";
import { beforeEachWithNodeAgent, type NodeAgentFixture } from "#test/support/fixtures/nodeAgentFixture.ts";

describe("A new session with the name of an old one", function () {
  this.timeout(90_000);
  let fixture: NodeAgentFixture;

  beforeEachWithNodeAgent(async (fresh) => {
    fixture = fresh;
    await fixture.createGameNode();
  });

  /** Deletes the session and its pod unnoticed by the agent, as when the node was cut off. */
  async function removeUnheard(name: string): Promise<void> {
    const ref = { name, namespace: fixture.namespace };
    await fixture.sessions.delete(ref);
    await fixture.pods.mergePatch(ref, { metadata: { finalizers: null } });
    await fixture.pods.delete(ref, { gracePeriodSeconds: 0 });
    await eventually(async () => (await fixture.pods.find(ref)) === undefined, {
      what: "the pod to be gone",
    });
  }

  /** Creates a session that was deleted unnoticed, and whose last pack is not stored. */
  async function aSessionLeft(): Promise<{ name: string; source: ArchiveSource }> {
    await fixture.startAgent({ SAVE_INTERVAL_SECONDS: "600" });
    const source = await fixture.createGame();
    const name = await fixture.launch(source);
    await fixture.ordered(name);
    await fixture.startPod(name);
    await fixture.stopAgent();
    writeFileSync(`${fixture.saves(name)}/progress`, "level 1");
    await fixture.packed(name);
    await fixture.killPacker(name);
    await removeUnheard(name);
    return { name, source };
  }

  /** Creates another session of the same name, with its pod. Returns its uid. */
  async function launchAgain(name: string, source: ArchiveSource): Promise<string> {
    await fixture.launch(source, { saveSlot: { slotId: "next", number: 1, generation: 0 } }, name);
    await fixture.createPod(name, [
      { name: podVolumes.spool, hostPath: { path: fixture.folder(name), type: "Directory" } },
    ]);
    return (await fixture.session(name)).metadata.uid;
  }

  const ordered = (name: string, uid: string): Promise<unknown> =>
    eventually(() => readFileSync(`${fixture.folder(name)}/${spoolNames.order}`, "utf8").includes(uid), {
      timeoutMs: 20_000,
      what: "the new session's order",
    });

  /**
   * Holds the session's folder open, so that its inode number is not reused before it is compared with the
   * later folder's.
   */
  function holdFolder(name: string): () => void {
    const held = openSync(fixture.folder(name), "r");
    return () => {
      const { ino } = fstatSync(held);
      closeSync(held);
      expect(statSync(fixture.folder(name)).ino, "the folder").to.equal(ino);
    };
  }

  async function expectStored(name: string): Promise<void> {
    const [objectKey = ""] = await fixture.storedSaves(`slot-${name}`);
    expect(await fixture.readSaved(objectKey, "progress")).to.equal("level 1");
  }

  it("gets the folder mounted by its pod once the old session's save is stored", async () => {
    const { name, source } = await aSessionLeft();
    const expectSameFolder = holdFolder(name);
    const uid = await launchAgain(name, source);
    await fixture.startAgent();
    await ordered(name, uid);
    expectSameFolder();
    await expectStored(name);
  });

  it("gets the folder even if its pod mounted it while the old session's save was being stored", async () => {
    const { name, source } = await aSessionLeft();
    const expectSameFolder = holdFolder(name);
    const launched = Promise.withResolvers<undefined>();
    const uploads = (): number => fixture.proxy.requests.filter(({ method }) => method === "PUT").length;
    const before = uploads();
    fixture.proxy.fault = ({ method }) => (method === "PUT" ? { holdUntil: launched.promise } : undefined);
    await fixture.startAgent();
    await eventually(() => uploads() > before, { timeoutMs: 20_000, what: "the upload to begin" });
    const uid = await launchAgain(name, source);
    launched.resolve(undefined);
    await ordered(name, uid);
    expectSameFolder();
    await expectStored(name);
  });
});
