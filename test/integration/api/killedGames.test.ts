import { expect } from "chai";
import type { GameSessionStatus, StoredSave } from "#contracts/crd/gameSession.ts";
import type { GameSessionStatusResponse } from "#contracts/http/gameSessions.ts";
import type { SavesResponse } from "#contracts/http/saves.ts";
import { saveKey } from "#contracts/objectKeys.ts";
import { recordGameSession } from "#api/gameSessions/recording/recordGameSession.ts";
import { createHash } from "node:crypto";
import { aSave } from "#test/support/fixtures/savesFixture.ts";
import { eventually } from "#test/support/clocks/eventually.ts";
import { LaunchFixture } from "#test/support/fixtures/launchFixture.ts";

describe("the last save of a killed game", function () {
  this.timeout(60_000);
  let fixture: LaunchFixture;

  before(async () => {
    fixture = await LaunchFixture.start({ minio: true, env: { LAUNCHES_PER_MINUTE: "100" } });
  });
  beforeEach(() => fixture.newPlayer());
  after(() => fixture.stop());

  /** As the node agent, stores a save of the session. */
  async function store(id: string, sequence: number): Promise<StoredSave> {
    const { api, operator } = fixture;
    const { slotId, generation: base } = (await operator.session(id)).spec.saveSlot;
    const generation = base + 1;
    const objectKey = saveKey(slotId, { generation, gameSession: id, sequence, attempt: 1 });
    const content = aSave(`${id} ${sequence}`);
    await api.minio!.client.putObject(api.minio!.bucket, objectKey, content);
    const sha256 = createHash("sha256").update(content).digest("hex");
    const persistedAt = new Date().toISOString();
    return { objectKey, sha256, bytes: content.length, generation, sequence, persistedAt, final: false };
  }
  async function autosave(id: string, sequence: number): Promise<StoredSave> {
    const { api, operator } = fixture;
    const save = await store(id, sequence);
    await operator.report(id, { save });
    await eventually(() => api.deps.cluster.gameSession(id)?.status?.save?.objectKey === save.objectKey);
    await recordGameSession(api.deps, id);
    return save;
  }
  /** Stops the session as its player; its last save is the one with this number. */
  async function stop(id: string, sequence: number, gameEnd: GameSessionStatus["gameEnd"]): Promise<void> {
    const answer = fixture.player.post("/api/game/stop", { sessionId: id });
    await eventually(async () => (await fixture.rowOf(id)).status === "stopping", {
      what: "the stop to begin",
    });
    const save = { ...(await store(id, sequence)), final: true };
    await fixture.operator.finish(id, { save, ...(gameEnd && { gameEnd }) });
    expect((await answer).json()).to.include({ status: "stopped" });
  }
  async function statusOf(id: string): Promise<GameSessionStatusResponse> {
    const response = await fixture.player.get(`/api/game/session-status?sessionId=${id}`);
    return response.json<GameSessionStatusResponse>();
  }
  async function versions() {
    const response = await fixture.player.get(`/api/games/${fixture.game.slug}/saves`);
    return response.json<SavesResponse>().slots[0]!.versions;
  }

  it("is current, marked and explained, and the player can go back to the autosave from before", async () => {
    const id = await fixture.running();
    await autosave(id, 1);
    await stop(id, 2, { endedBy: "Sigkill", fullFolders: ["Home", "Tmp"] });
    const ended = await statusOf(id);
    expect(ended.saveNotice).to.contain("may be incomplete");
    expect(ended.fullFolders).to.deep.equal(["home", "tmp"]);
    const [last, before] = await versions();
    expect(last).to.include({ kind: "played", isCurrent: true, mayBeIncomplete: true });
    expect(before).to.include({ kind: "autosave", isCurrent: false });
    expect(ended.earlierSave).to.include({ versionId: before!.id, savedAt: before!.savedAt });
    const { saveSlotId, versionId } = ended.earlierSave!;
    const path = `/api/games/${fixture.game.slug}/saves/${saveSlotId}/restore`;
    const restored = await fixture.player.post(path, { versionId });
    expect(restored.status, restored.text).to.equal(200);
    expect((await versions())[0]).to.include({ kind: "restored", isCurrent: true });
    expect((await statusOf(id)).earlierSave, "once it is restored").to.be.undefined;
  });

  it("can be replaced by the save that the session started from, if it had stored no other", async () => {
    const first = await fixture.running();
    await stop(first, 1, { endedBy: "Sigterm" });
    const second = await fixture.running();
    await stop(second, 1, { endedBy: "Sigkill" });
    const [last, before] = await versions();
    expect(last).to.include({ isCurrent: true, mayBeIncomplete: true });
    expect((await statusOf(second)).earlierSave).to.include({ versionId: before!.id });
  });

  it("is the session's progress without a notice if the game ended in time", async () => {
    const id = await fixture.running();
    await autosave(id, 1);
    await stop(id, 2, { endedBy: "CloseRequest" });
    expect(await statusOf(id)).to.not.have.any.keys("saveNotice", "earlierSave", "fullFolders");
    expect(await versions()).to.have.lengthOf(1);
  });
});
