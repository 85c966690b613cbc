import { expect } from "chai";
import fc from "fast-check";
import { nodes } from "#kube/api/builtin.ts";
import { matchesLabels, parseLabelSelector } from "#kube/api/labelSelector.ts";
import { ResourceClient } from "#kube/client/resourceClient.ts";
import { readConfig } from "#operator/config.ts";
import { sharedKubeApiServer, type KubeApiServer } from "#test/support/cluster/kubeApiServer.ts";
import { podsOf } from "#test/support/chart/programEnvironments.ts";
import { isInWords, renderChart } from "#test/support/chart/helmTemplate.ts";

const keys = ["gpu", "zone", "example.com/kind", "A_b.c-1"];
const values = ["", "a", "b", "Far-away_1.x"];
const key = fc.constantFrom(...keys);
const value = fc.constantFrom(...values);
const space = fc.constantFrom("", " ");
const set = fc
  .tuple(fc.uniqueArray(fc.constantFrom(...values.slice(1)), { minLength: 1 }), space)
  .map(([list, gap]) => `(${list.join(`,${gap}`)})`);
const requirement = fc.oneof(
  key,
  fc.tuple(space, key).map(([gap, name]) => `!${gap}${name}`),
  fc.tuple(key, fc.constantFrom("=", "==", "!="), value).map((parts) => parts.join("")),
  fc
    .tuple(key, fc.constantFrom("in", "notin"), space, set)
    .map(([name, word, gap, list]) => `${name} ${word}${gap}${list}`),
);
const selectors = fc
  .array(
    fc.tuple(space, requirement, space).map((parts) => parts.join("")),
    { minLength: 1, maxLength: 3 },
  )
  .map((list) => list.join(","));

const wrong = [
  "gpus>2",
  "a,",
  ",a",
  "a,,b",
  "kind in (a",
  "kind in ()",
  "in (a,b)",
  "two words",
  "a=b=c",
  "-a",
  "a=-",
  "a in (b)x",
  "k".repeat(64),
  "!a=b",
];

/** What the chart asks of the nodes of each DaemonSet, without the label by which agents stay. */
async function renderedRequirements(selector: string): Promise<unknown[]> {
  const rendering = await renderChart("bundled", { gameNodes: { selector } });
  if ("error" in rendering) throw new Error(rendering.error);
  const daemonSets = rendering.manifests.filter(({ kind }) => kind === "DaemonSet");
  return podsOf(daemonSets)
    .map((pod) => JSON.parse(JSON.stringify(pod)) as AffinePod)
    .map(
      ({ affinity }) =>
        affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms.at(-1)
          ?.matchExpressions,
    );
}

interface AffinePod {
  affinity: {
    nodeAffinity: {
      requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: { matchExpressions: unknown }[] };
    };
  };
}

const operatorReads = (selector: string) =>
  readConfig({ STREAMER_IMAGE: "streamer:1", GAME_IMAGE: "game:1", GAME_NODE_SELECTOR: selector })
    .gameNodeSelector;

describe("gameNodes.selector", function () {
  this.timeout(60_000);
  let server: KubeApiServer;
  const marker = `selector-test-${Date.now()}`;

  before(async () => {
    server = await sharedKubeApiServer();
    const client = new ResourceClient(server.admin, nodes);
    const combinations = [undefined, ...values].flatMap((gpu) =>
      [undefined, "a", "Far-away_1.x"].map((zone) => ({ gpu, zone, "example.com/kind": gpu })),
    );
    await Promise.all(
      combinations.map(async (labels, index) => {
        const set = Object.fromEntries(
          Object.entries(labels).filter((entry): entry is [string, string] => entry[1] !== undefined),
        );
        await client.create({
          metadata: { name: `${marker}-${index}`, labels: { ...set, [marker]: "yes" } },
        });
      }),
    );
  });
  after(async () => {
    const client = new ResourceClient(server.admin, nodes);
    const { items } = await client.listAll({ labelSelector: marker });
    await Promise.all(items.map(({ metadata }) => client.delete({ name: metadata.name })));
  });

  it("selects the same nodes for the operator as for Kubernetes", async () => {
    const client = new ResourceClient(server.admin, nodes);
    const { items: all } = await client.listAll({ labelSelector: marker });
    expect(all).to.have.length(15);
    await fc.assert(
      fc.asyncProperty(selectors, async (selector) => {
        const { items } = await client.listAll({ labelSelector: `${marker},${selector}` });
        const matching = all.filter(({ metadata }) =>
          matchesLabels(metadata.labels, parseLabelSelector(selector)),
        );
        expect(matching.map(({ metadata }) => metadata.name).sort(), selector).to.deep.equal(
          items.map(({ metadata }) => metadata.name).sort(),
        );
      }),
      { seed: 7, numRuns: 60 },
    );
  });

  it("has the same meaning in the chart's DaemonSets as for the operator", async () => {
    for (const selector of [
      "gpu",
      "nvidia.com/gpu.present=true",
      fc.sample(selectors, { seed: 7, numRuns: 40 }).join(","),
    ]) {
      const [agents, responders] = await renderedRequirements(selector);
      expect(agents, selector).to.deep.equal(operatorReads(selector));
      expect(responders, selector).to.deep.equal(agents);
    }
  });

  it("is rejected with a message by chart and operator if it is invalid", async () => {
    for (const selector of wrong)
      expect(() => operatorReads(selector), selector).to.throw("write key, !key, key=value");
    for (const selector of wrong.slice(0, 6)) {
      const rendering = await renderChart("bundled", { gameNodes: { selector } });
      if (!("error" in rendering)) throw new Error(`Helm rendered the selector ${selector}.`);
      expect(isInWords(rendering.error), rendering.error).to.equal(true);
      expect(rendering.error).to.contain("write key, !key, key=value");
    }
  });
});
