import { expect } from "chai";
import { distributionOf } from "#publish/waitForDistribution.ts";

describe("distributionOf", () => {
  const sync = (...servers: Parameters<typeof distributionOf>[0]["servers"]) =>
    distributionOf({
      totalServers: servers.length,
      cachedOn: servers.filter(({ status }) => status === "cached").length,
      servers,
    });
  const because = (id: string, reason: string) => ({
    id,
    status: "pending",
    pending: { reason, message: "Why." },
  });

  it("awaits servers that fetch the version by themselves, and those of which the server says nothing", () => {
    const { servers, cached, pending } = sync(
      { id: "node-1", status: "cached" },
      { id: "node-2", status: "pending" },
      because("node-3", "downloading"),
      because("node-4", "disk_full"),
      because("node-5", "on_demand"),
      because("node-6", "not_selected"),
    );
    expect([servers, cached]).to.deep.equal([6, 1]);
    expect(pending.filter(({ isAwaited }) => isAwaited).map(({ id }) => id)).to.deep.equal([
      "node-2",
      "node-3",
      "node-4",
    ]);
    expect(pending.filter(({ isExpected }) => !isExpected).map(({ id }) => id)).to.deep.equal([
      "node-5",
      "node-6",
    ]);
  });

  it("does not await servers for which waiting cannot help, although they should hold the version", () => {
    const lasting = ["archive_refused", "archive_missing", "archive_damaged"];
    for (const reason of lasting)
      expect(sync(because("node-1", reason)).pending).to.deep.equal([
        { id: "node-1", message: "Why.", isExpected: true, isAwaited: false },
      ]);
  });

  it("awaits a server that does not report only while no other holds the version", () => {
    const off = because("node-1", "server_unavailable");
    expect(sync(off).pending).to.deep.include.members([
      { id: "node-1", message: "Why.", isExpected: true, isAwaited: true },
    ]);
    expect(sync(off, { id: "node-2", status: "cached" }).pending).to.deep.equal([
      { id: "node-1", message: "Why.", isExpected: true, isAwaited: false },
    ]);
  });
});
