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

  function restore(versionId: string): Promise<ApiResponse> {
    return fixture.player.post(`${fixture.path}/${slotId}/restore`, { versionId });
  }

  function reads(): number {
    return proxy.requests.filter(({ method, path }) => method === "GET" && path.includes(`/saves/${slotId}/`)).length;
  }

  it("goes on four at a time, and the others wait", async () => {
    const versions = [];
    for (const text of ["one", "two", "three", "four", "five", "six", "seven"]) versions.push(await fixture.aVersion(slotId, text));
    const released = Promise.withResolvers<undefined>();
    proxy.fault = ({ method, path }) => method === "GET" && path.includes("/saves/") ? { holdUntil: released.promise } : undefined;
    const restored = versions.slice(0, 6).map(({ id }) => restore(id));
    await eventually(() => reads() >= 4, { what: "four reads" });
    await fixture.saves();
    expect(reads()).to.equal(4);
    proxy.fault = undefined;
    released.resolve(undefined);
    for (const response of await Promise.all(restored)) expect(response.status, response.text).to.equal(200);
    expect(reads()).to.equal(6);
  });

  it("is spared where the slot goes on with the save already, unless it was found unreadable", async () => {
    const { id, objectKey } = await fixture.aVersion(slotId, "one");
    expect((await restore(id)).status).to.equal(200);
    expect(reads()).to.equal(0);
    await fixture.api.deps.postgres.prisma.saveVersion.updateMany({ where: { objectKey }, data: { unreadableAt: new Date() } });
    expect((await restore(id)).json<{ versions: { isReadable: boolean }[] }>().versions[0]).to.include({ isReadable: true });
    expect(reads()).to.equal(1);
  });
});
