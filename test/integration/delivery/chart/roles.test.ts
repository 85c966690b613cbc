import { expect } from "chai";
import { maintenanceConfigMap } from "#contracts/maintenance.ts";
import type { KubeTransport } from "#kube/client/transport.ts";
import { InstalledChart } from "#test/support/fixtures/installedChart.ts";

describe("the chart's roles", function () {
  this.timeout(60_000);

  it("let API and operator read and renew only their own lease", async () => {
    const chart = await InstalledChart.install();
    const accounts = {
      "joypod-api": await chart.account("api"),
      "joypod-operator": await chart.account("operator"),
    };
    for (const [own, transport] of Object.entries(accounts)) {
      for (const name of [...Object.keys(accounts), "another"]) {
        for (const verb of ["get", "update", "patch", "delete"]) {
          const isOwn = name === own && (verb === "get" || verb === "update");
          expect(
            await can(transport, { verb, name, namespace: chart.releaseNamespace }),
            `${own} may ${verb} ${name}`,
          ).to.equal(isOwn);
        }
      }
      expect(
        await can(transport, { verb: "create", namespace: chart.releaseNamespace }),
        `${own} may create`,
      ).to.equal(true);
    }
  });

  it("let the operator create, watch and delete the agents' Leases, and an agent renew one, only in their namespace", async () => {
    const chart = await InstalledChart.install();
    const rights = { operator: ["list", "watch", "create", "delete"], "node-agent": ["patch"] } as const;
    for (const program of ["operator", "node-agent"] as const) {
      const account = await chart.account(program);
      for (const verb of ["get", "list", "watch", "create", "update", "patch", "delete"]) {
        const isRight = rights[program].some((right) => right === verb);
        expect(
          await can(account, { verb, name: "node-1", namespace: chart.nodesNamespace }),
          `${program} may ${verb}`,
        ).to.equal(isRight);
        if (isRight && verb !== "create")
          expect(
            await can(account, { verb, name: "node-1", namespace: chart.releaseNamespace }),
            `${program} may ${verb} elsewhere`,
          ).to.equal(false);
      }
    }
    expect(
      await can(await chart.account("api"), { verb: "list", namespace: chart.nodesNamespace }),
      "the API",
    ).to.equal(false);
  });

  it("let the API read only the maintenance ConfigMap", async () => {
    const chart = await InstalledChart.install();
    const api = await chart.account("api");
    const allowed: string[] = [];
    for (const name of [maintenanceConfigMap, "another"]) {
      for (const verb of ["get", "list", "watch", "create", "update", "patch", "delete"]) {
        if (
          await can(api, { group: "", resource: "configmaps", verb, name, namespace: chart.releaseNamespace })
        )
          allowed.push(`${verb} ${name}`);
      }
    }
    expect(allowed).to.deep.equal([
      `get ${maintenanceConfigMap}`,
      `list ${maintenanceConfigMap}`,
      `watch ${maintenanceConfigMap}`,
    ]);
  });
});

/** As `kubectl auth can-i` asks. */
async function can(
  transport: KubeTransport,
  attributes: { verb: string; namespace: string; name?: string; group?: string; resource?: string },
): Promise<boolean> {
  const spec = { resourceAttributes: { group: "coordination.k8s.io", resource: "leases", ...attributes } };
  const review = (await transport.request({
    method: "POST",
    path: "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
    body: { spec },
  })) as { status: { allowed: boolean } };
  return review.status.allowed;
}
