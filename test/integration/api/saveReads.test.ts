import { expect } from "chai";
import { startFaultProxy, type FaultProxy } from "#test/support/cluster/faultProxy.ts";
import { eventually } from "#test/support/clocks/eventually.ts";
import { SavesFixture } from "#test/support/fixtures/savesFixture.ts";
import type { ApiResponse } from "#test/support/http/apiClient.ts";
import { sharedMinio, type TestMinio } from "#test/support/stores/minio.ts";

describe("reading saves before they are restored or copied", function () {
  this.timeout(60_000);
  let minio: TestMinio;
  let proxy: FaultProxy;
  let fixture: SavesFixture;
  let slotId: string;

  before(async () => {
    minio = await sharedMinio();
    proxy = await startFaultProxy(minio.endpoint);
    fixture = await SavesFixture.start({ env: { S3_ENDPOINT: proxy.endpoint } });
  });
  beforeEach(async () => {
    await fixture.launches.newPlayer();
    slotId = await fixture.aSlot();
  });
  after(async () => {
    await fixture.stop();
    await proxy.close();
    await minio.remove();
  });

  function restore(versionId: string, player = fixture.player, slot = slotId): Promise<ApiResponse> {
    return player.post(`${fixture.path}/${slot}/restore`, { versionId });
  }

  function reads(slots = [slotId]): number {
    return proxy.requests.filter(
      ({ method, path }) => method === "GET" && slots.some((slot) => path.includes(`/saves/${slot}/`)),
    ).length;
  }

  /** Versions of the slot that have to be read before they are restored. */
  async function earlierVersions(count: number): Promise<string[]> {
    const versions = [];
    for (let number = 0; number <= count; number++)
      versions.push((await fixture.aVersion(slotId, `save ${number}`)).id);
    return versions.slice(0, count);
  }

  /** Holds back what is read of these slots; returns what lets it go. */
  function holdReads(slots: readonly string[]): () => void {
    const released = Promise.withResolvers<undefined>();
    proxy.fault = ({ method, path }) =>
      method === "GET" && slots.some((slot) => path.includes(`/saves/${slot}/`))
        ? { holdUntil: released.promise }
        : undefined;
    return () => {
      proxy.fault = undefined;
      released.resolve(undefined);
    };
  }

  it("does not mark a save as unreadable because of a proxy's 404", async () => {
    const [versionId] = await earlierVersions(1);
    proxy.fault = ({ method, path }) =>
      method === "GET" && path.includes(`/saves/${slotId}/`) ? { status: 404 } : undefined;
    try {
      expect((await restore(versionId!)).status).to.equal(503);
    } finally {
      proxy.fault = undefined;
    }
    expect((await restore(versionId!)).status).to.equal(200);
  });

  it("reads four saves at a time, and the others wait", async () => {
    const wishes = [];
    for (let count = 0; count < 6; count++) {
      await fixture.launches.newPlayer();
      slotId = await fixture.aSlot();
      wishes.push({ player: fixture.player, slotId, versionId: (await earlierVersions(1))[0] ?? "" });
    }
    const slots = wishes.map((wish) => wish.slotId);
    const release = holdReads(slots);
    const restored = wishes.map((wish) => restore(wish.versionId, wish.player, wish.slotId));
    await eventually(() => reads(slots) >= 4, { what: "four reads" });
    await fixture.saves();
    expect(reads(slots)).to.equal(4);
    release();
    for (const response of await Promise.all(restored)) expect(response.status, response.text).to.equal(200);
    expect(reads(slots)).to.equal(6);
  });

  it("reads one save per player at a time: a few more wait, and do not block other players", async () => {
    const versions = await earlierVersions(6);
    const release = holdReads([slotId]);
    const restored = versions.map((id) => restore(id));
    await eventually(() => reads() >= 1, { what: "a read" });
    await fixture.launches.newPlayer();
    const otherSlot = await fixture.aSlot();
    const { id } = await fixture.aVersion(otherSlot, "other, one");
    await fixture.aVersion(otherSlot, "other, two");
    const other = await restore(id, fixture.player, otherSlot);
    expect(other.status, other.text).to.equal(200);
    expect(reads()).to.equal(1);
    release();
    const responses = await Promise.all(restored);
    expect(responses.map(({ status }) => status).toSorted()).to.deep.equal([200, 200, 200, 200, 200, 409]);
    const refused = responses.find(({ status }) => status === 409);
    expect(refused?.json()).to.include({
      error: "conflict",
      message: "Another of your saves is being read. Try again in a moment.",
    });
    expect(refused?.headers.get("retry-after")).to.equal("10");
  });

  it("is skipped if the slot already has the save, unless it was found unreadable", async () => {
    const { id, objectKey } = await fixture.aVersion(slotId, "one");
    expect((await restore(id)).status).to.equal(200);
    expect(reads()).to.equal(0);
    await fixture.api.deps.postgres.prisma.saveVersion.updateMany({
      where: { objectKey },
      data: { unreadableAt: new Date() },
    });
    expect((await restore(id)).json<{ versions: { isReadable: boolean }[] }>().versions[0]).to.include({
      isReadable: true,
    });
    expect(reads()).to.equal(1);
  });
});
