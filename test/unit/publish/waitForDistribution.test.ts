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
  });
});
