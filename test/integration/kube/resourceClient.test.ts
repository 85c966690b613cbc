import { expect } from "chai";
import { sharedKubeApiServer, type KubeApiServer } from "#test/support/kubeApiServer.ts";

describe("try", () => {
  let server: KubeApiServer;
  before(async function () { this.timeout(60_000); server = await sharedKubeApiServer(); });
  it("works", async () => {
    expect(await server.createNamespace()).to.match(/^test-/);
  });
});
