import { expect } from "chai";
import { nodeAgentLabel } from "#contracts/crd/names.ts";
import type { KubeRequest } from "#kube/client/request.ts";
import { InstalledChart } from "#test/support/fixtures/installedChart.ts";

describe("the chart's policy on nodes", function () {
  this.timeout(60_000);

  it("lets the operator change one label of nodes and nothing else", async () => {
    const chart = await InstalledChart.install();
    const { admin } = chart.server;
    const node = `${chart.releaseNamespace}-node`;
    await admin.request({
      method: "POST",
      path: "/api/v1/nodes",
      body: { metadata: { name: node, labels: { zone: "a" }, annotations: { kept: "yes" } } },
    });
    const operator = await chart.account("operator", [
      { apiGroups: [""], resources: ["nodes", "nodes/status"], verbs: ["get", "create", "patch", "delete"] },
    ]);
    const patch = (body: object, subresource = ""): KubeRequest => ({
      method: "PATCH",
      path: `/api/v1/nodes/${node}${subresource}`,
      contentType: "application/merge-patch+json",
      body,
    });
    const labels = (changed: Record<string, string | null>): object => ({ metadata: { labels: changed } });
    expect(await chart.errorOf(operator, patch(labels({ [nodeAgentLabel]: "true" })))).to.equal(undefined);
    const refused: KubeRequest[] = [
      patch(labels({ zone: "b" })),
      patch(labels({ zone: null })),
      patch(labels({ [nodeAgentLabel]: "true", other: "1" })),
      patch(labels({ [nodeAgentLabel]: "staging" })),
      patch({ metadata: { annotations: { kept: "no" } } }),
      patch({ metadata: { finalizers: ["joypod.dev/test"] } }),
      patch({ spec: { unschedulable: true } }),
      patch({ spec: { taints: [{ key: "a", effect: "NoExecute" }] } }),
      patch({ status: { allocatable: { cpu: "1" } } }, "/status"),
      { method: "DELETE", path: `/api/v1/nodes/${node}` },
      { method: "POST", path: "/api/v1/nodes", body: { metadata: { name: `${node}-2` } } },
    ];
    for (const request of refused)
      expect(await chart.errorOf(operator, request), JSON.stringify(request)).to.contain(
        "only the label joypod.dev/node-agent",
      );
    expect(await chart.errorOf(operator, patch(labels({ [nodeAgentLabel]: null })))).to.equal(undefined);
    expect(await chart.errorOf(admin, patch(labels({ zone: "b" }))), "anybody else").to.equal(undefined);
    await admin.request({ method: "DELETE", path: `/api/v1/nodes/${node}` });
  });
});
