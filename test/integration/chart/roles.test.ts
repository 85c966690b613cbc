import { expect } from "chai";
import type { KubeTransport } from "#kube/transport.ts";
import { InstalledChart } from "#test/support/fixtures/installedChart.ts";

describe("the chart's roles", function () {
  this.timeout(60_000);

  it("let API and operator read and renew their own lease, and no other", async () => {
    const chart = await InstalledChart.install();
    const accounts = { "joypod-api": await chart.account("api"), "joypod-operator": await chart.account("operator") };
    for (const [own, transport] of Object.entries(accounts)) {
      for (const name of [...Object.keys(accounts), "another"]) {
        for (const verb of ["get", "update", "patch", "delete"]) {
          const isOwn = name === own && (verb === "get" || verb === "update");
          expect(await can(transport, { verb, name, namespace: chart.releaseNamespace }), `${own} may ${verb} ${name}`).to.equal(isOwn);
        }
      }
      expect(await can(transport, { verb: "create", namespace: chart.releaseNamespace }), `${own} may create`).to.equal(true);
    }
  });
});

/** As `kubectl auth can-i` asks. */
async function can(transport: KubeTransport, attributes: { verb: string; namespace: string; name?: string }): Promise<boolean> {
  const spec = { resourceAttributes: { group: "coordination.k8s.io", resource: "leases", ...attributes } };
  const review = await transport.request({ method: "POST", path: "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", body: { spec } }) as { status: { allowed: boolean } };
  return review.status.allowed;
}
