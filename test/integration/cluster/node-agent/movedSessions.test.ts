import { chownSync, existsSync, mkdirSync, writeFileSync } from "node:fs";
import { expect } from "chai";
import { podVolumes, sessionUserId } from "#contracts/nodeLayout.ts";
import { saveKey } from "#contracts/objectKeys.ts";
import { aTarGz } from "#test/factories/tarArchive.ts";
import { eventually } from "#test/support/clocks/eventually.ts";
import { beforeEachWithNodeAgent, NodeAgentFixture } from "#test/support/fixtures/nodeAgentFixture.ts";
import { sha256Of } from "#test/support/stores/storedArchive.ts";

describe("A moved session", function () {
  this.timeout(90_000);
  const slotId = "old";
  let first: NodeAgentFixture;

  beforeEachWithNodeAgent(async (fresh) => {
    first = fresh;
    await first.createGameNode();
  });

  /**
   * Creates a session with a save to restore, and stops the agent before its pod runs: the packer and the
   * game do not need it.
   */
  async function playedWithoutAgent(): Promise<string> {
    const save = aTarGz([{ name: "progress", body: "level 7" }]);
    const objectKey = saveKey(slotId, { generation: 3, gameSession: "gs-old", sequence: 1, attempt: 1 });
    await first.minio.client.putObject(first.minio.bucket, objectKey, save, save.length);
    await first.startAgent();
    const name = await first.launch(await first.createGame(), {
      saveSlot: { slotId, number: 2, objectKey, sha256: sha256Of(save), generation: 3 },
    });
    await first.ordered(name);
    await first.stopAgent();
    await first.createPod(name, [{ name: podVolumes.spool }]);
    mkdirSync(first.volume(name));
    chownSync(first.volume(name), sessionUserId, sessionUserId);
    await first.startPacker(name);
    await eventually(() => existsSync(first.saves(name)), { timeoutMs: 20_000, what: "the save directory" });
    writeFileSync(`${first.saves(name)}/progress`, "level 8");
    await first.packed(name);
    return name;
  }

  /** Moves the session as the operator does if its agent does not report it as prepared. */
  async function move(name: string, next: NodeAgentFixture): Promise<void> {
    await first.killPacker(name);
    await first.pods.mergePatch({ name, namespace: first.namespace }, { metadata: { finalizers: null } });
    await first.pods.delete({ name, namespace: first.namespace }, { gracePeriodSeconds: 0 });
    await next.operate(name, {
      placement: { attempt: 2, assignedAt: new Date().toISOString(), triedNodes: [first.node] },
    });
  }

  it("keeps the saves of its node when the previous node's agent returns with a pack", async () => {
    const next = await NodeAgentFixture.set(first.minio, first);
    try {
      await next.createGameNode();
      const name = await playedWithoutAgent();
      await move(name, next);
      await next.startAgent();
      await next.ordered(name);
      await next.startPod(name);
      writeFileSync(`${next.saves(name)}/progress`, "level 9");
      const stored = await next.storedSave(name, 1);
      const { sequence, attempt } = first.manifest(name)!.save!;
      expect(stored.sequence, "of the later save").to.be.above(sequence);

      await first.startAgent();
      await eventually(() => !existsSync(first.folder(name)), {
        timeoutMs: 20_000,
        what: "the first node to give the session up",
      });
      expect(sha256Of(await next.readObject(stored.objectKey))).to.equal(stored.sha256);
      const former = saveKey(slotId, { generation: 4, gameSession: name, sequence, attempt });
      expect(await next.storedSaves(slotId)).to.include.members([former, stored.objectKey]);
      expect(await next.readSaved(former, "progress")).to.equal("level 8");
    } finally {
      await next.clear();
    }
  });
});
