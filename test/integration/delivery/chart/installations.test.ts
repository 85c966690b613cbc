import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect } from "chai";
import { parse } from "yaml";
import type { KubeRequest } from "#kube/client/request.ts";
import type { KubeTransport } from "#kube/client/transport.ts";
import { ResourceClient } from "#kube/client/resourceClient.ts";
import { gameNodes } from "#contracts/crd/gameNode.ts";
import { gameSessions } from "#contracts/crd/gameSession.ts";
import { installationLabel } from "#contracts/crd/installation.ts";
import { nodeAgentLabel } from "#contracts/crd/names.ts";
import { eventually } from "#test/support/clocks/eventually.ts";
import { chartFolder, renderOf } from "#test/support/chart/helmTemplate.ts";
import { sharedKubeApiServer, type KubeApiServer } from "#test/support/cluster/kubeApiServer.ts";
import { InstalledChart } from "#test/support/fixtures/installedChart.ts";
import { aGameSessionSpec } from "#test/factories/gameSession.ts";

/** Kinds of the chart that a namespace holds. */
const namespacedKinds = new Set([
  "ConfigMap",
  "DaemonSet",
  "Deployment",
  "Ingress",
  "HTTPRoute",
  "Job",
  "NetworkPolicy",
  "Pod",
  "PodDisruptionBudget",
  "PodMonitor",
  "PrometheusRule",
  "Role",
  "RoleBinding",
  "Secret",
  "Service",
  "ServiceAccount",
  "ServiceMonitor",
  "StatefulSet",
]);

interface Manifest {
  apiVersion: string;
  kind: string;
  metadata: { name: string; namespace?: string; annotations?: Record<string, string> };
  spec?: object;
}

function render(release: string, namespace: string, ...values: string[]): Promise<Manifest[]> {
  const own = ["sessions", "nodeAgent", "turn"].map(
    (part) => `${part}.namespace=${namespace}-${part.toLowerCase()}`,
  );
  const set = [
    "stores.bundled=true",
    "turn.enabled=true",
    "turn.host=turn.example.com",
    ...own,
    ...values,
  ].join(",");
  return renderOf<Manifest>({ release, namespace }, "--set", set);
}

const keyOf = ({ kind, metadata }: Manifest, namespace: string): string =>
  `${kind} ${namespacedKinds.has(kind) ? `${metadata.namespace ?? namespace}/` : ""}${metadata.name}`;

describe("two releases of the chart in one cluster", function () {
  this.timeout(120_000);

  for (const [what, release] of [
    ["other names", "staging"],
    ["one name", "joypod"],
  ] as const) {
    it(`share only the definitions, with ${what}`, async () => {
      const [one, two] = [
        await render("joypod", "joypod"),
        await render(release, "staging", "installation=staging"),
      ];
      const names = new Set(one.map((manifest) => keyOf(manifest, "joypod")));
      const shared = two.map((manifest) => keyOf(manifest, "staging")).filter((name) => names.has(name));
      expect(shared).to.have.members(
        ["gamecaches", "gamenodes", "gamesessions"].map(
          (plural) => `CustomResourceDefinition ${plural}.joypod.dev`,
        ),
      );
    });
  }

  it("have agents only on their own nodes", async () => {
    const labelValues = async (...values: string[]): Promise<string> =>
      JSON.stringify(
        (await render("joypod", "joypod", ...values)).find(
          ({ kind, metadata }) => kind === "DaemonSet" && metadata.name === "joypod-node-agent",
        )?.spec,
      ).match(/"key":"joypod.dev\/node-agent","operator":"In","values":(\[[^\]]*\])/)?.[1] ?? "";
    expect(await labelValues()).to.equal('["true"]');
    expect(await labelValues("installation=staging")).to.equal('["staging"]');
  });

  it("cannot share a namespace of sessions", async () => {
    const claims = await Promise.all(
      ["joypod", "staging"].map((release) =>
        render(release, release, "sessions.namespace=games", "sessions.createNamespace=false"),
      ),
    );
    const [one, two] = claims.map((manifests) =>
      manifests
        .filter(({ kind, metadata }) => kind === "ConfigMap" && metadata.namespace === "games")
        .map(({ metadata }) => metadata.name),
    );
    expect(one).to.deep.equal(["joypod-installation"]).and.to.deep.equal(two);
  });

  it("may write only their own installation's objects", async () => {
    const installed = await InstalledChart.install({ installation: "staging" });
    const {
      server: { admin },
      sessionsNamespace,
    } = installed;
    const nodes = new ResourceClient(admin, gameNodes);
    const [own, other] = [`${sessionsNamespace}-own`, `${sessionsNamespace}-other`];
    const agents = { own: await installed.agent(own), other: await installed.agent(other) };
    await nodes.create({
      metadata: { name: own, labels: { [installationLabel]: "staging" } },
      spec: { desired: [] },
    });
    await nodes.create({ metadata: { name: other }, spec: { desired: [] } });
    const elsewhere = await installed.server.createNamespace("others-sessions");
    const sessions = new ResourceClient(admin, gameSessions);
    for (const namespace of [sessionsNamespace, elsewhere])
      await sessions.create({ metadata: { name: "gs-one", namespace }, spec: aGameSessionSpec() });
    const [operator, api] = [await installed.account("operator"), await installed.account("api")];
    const patch = (path: string, body: object): KubeRequest => ({
      method: "PATCH",
      path,
      contentType: "application/merge-patch+json",
      body,
    });
    const nodePath = (name: string): string => `/apis/joypod.dev/v1alpha1/gamenodes/${name}`;
    const sessionPath = (namespace: string): string =>
      `/apis/joypod.dev/v1alpha1/namespaces/${namespace}/gamesessions/gs-one`;
    const touched = { metadata: { annotations: { touched: "yes" } } };
    const heartbeat = { status: { heartbeat: { renewedAt: new Date().toISOString(), agentVersion: "1" } } };
    const cases: [KubeTransport, KubeRequest, string | undefined][] = [
      [operator, patch(nodePath(own), touched), undefined],
      [
        operator,
        patch(nodePath(own), { metadata: { labels: { [installationLabel]: null } } }),
        "only GameNodes of its own installation",
      ],
      [operator, patch(nodePath(other), touched), "only GameNodes of its own installation"],
      [operator, { method: "DELETE", path: nodePath(other) }, "only GameNodes of its own installation"],
      [operator, patch(sessionPath(sessionsNamespace), touched), undefined],
      [operator, patch(sessionPath(elsewhere), touched), "only objects in its own sessions' namespace"],
      [api, patch(sessionPath(sessionsNamespace), touched), undefined],
      [api, patch(sessionPath(elsewhere), touched), "only objects in its own sessions' namespace"],
      [
        operator,
        patch(`/api/v1/nodes/${own}`, { metadata: { labels: { [nodeAgentLabel]: "true" } } }),
        "absent or staging",
      ],
      [
        operator,
        patch(`/api/v1/nodes/${own}`, { metadata: { labels: { [nodeAgentLabel]: "staging" } } }),
        undefined,
      ],
      [agents.own, patch(`${nodePath(own)}/status`, heartbeat), undefined],
      [agents.other, patch(`${nodePath(other)}/status`, heartbeat), "only objects of its own installation"],
    ];
    for (const [transport, request, denial] of cases) {
      const error = await installed.errorOf(transport, request);
      if (denial === undefined) expect(error, JSON.stringify(request)).to.equal(undefined);
      else expect(error, JSON.stringify(request)).to.contain(denial);
    }
    for (const name of [own, other]) await nodes.delete({ name });
  });
});

describe("Joypod's definitions", function () {
  this.timeout(60_000);
  let server: KubeApiServer;
  const path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/guarded.joypod.dev";

  const schema = (description: string): object => ({
    type: "object",
    description,
    "x-kubernetes-preserve-unknown-fields": true,
  });
  const definition = (version: string | undefined, description: string): object => ({
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: {
      name: "guarded.joypod.dev",
      ...(version !== undefined && { annotations: { "joypod.dev/definitions-version": version } }),
    },
    spec: {
      group: "joypod.dev",
      scope: "Namespaced",
      names: { plural: "guarded", kind: "Guarded" },
      versions: [
        { name: "v1alpha1", served: true, storage: true, schema: { openAPIV3Schema: schema(description) } },
      ],
    },
  });
  /** As Helm and kubectl do; the annotation of an older chart's text is none, so that the field goes. */
  const apply = (version: string | undefined, description: string): KubeRequest => ({
    method: "PATCH",
    path,
    query: { fieldManager: "helm", force: true },
    contentType: "application/apply-patch+yaml",
    body: definition(version, description),
  });

  before(async () => {
    server = await sharedKubeApiServer();
  });

  it("have the version of their chart", async () => {
    const { version } = parse(await readFile(join(chartFolder, "Chart.yaml"), "utf8")) as { version: string };
    const definitions = (await render("joypod", "joypod")).filter(
      ({ kind }) => kind === "CustomResourceDefinition",
    );
    expect(
      definitions.map(({ metadata }) => metadata.annotations?.["joypod.dev/definitions-version"]),
    ).to.deep.equal([version, version, version]);
  });

  it("are overwritten by a newer chart's, but by an older chart's only if an admin forces it, which a message says", async () => {
    const installed = await InstalledChart.install();
    const { admin } = server;
    await admin.request(apply("0.9.3", "first"));
    try {
      await eventually(
        async () =>
          (await installed.errorOf(admin, {
            ...apply("0.1.0", "probe"),
            query: { fieldManager: "helm", force: true, dryRun: "All" },
          })) !== undefined,
        { what: "the policy to be in force" },
      );
      for (const version of ["0.9.2", "0.8.9", "0.9", "next", undefined]) {
        const denial = await installed.errorOf(admin, apply(version, "older"));
        expect(denial, version)
          .to.contain(`of chart 0.9.3, and these are of chart ${version ?? "0.0.0"}, which is older`)
          .and.to.contain("crds.install");
      }
      expect(
        await installed.errorOf(admin, apply("0.9.2", "first")),
        "an older chart with the same definition",
      ).to.equal(undefined);
      for (const [version, description] of [
        ["0.9.3", "same"],
        ["0.10.0-rc.1", "newer"],
        ["0.10.0", "released"],
        ["1.0.0", "major"],
      ] as const) {
        expect(await installed.errorOf(admin, apply(version, description)), version).to.equal(undefined);
      }
      await admin.request({
        method: "PATCH",
        path,
        contentType: "application/merge-patch+json",
        body: { metadata: { annotations: { "joypod.dev/definitions-version": null } } },
      });
      expect(await installed.errorOf(admin, apply("0.9.0", "by an admin"))).to.equal(undefined);
    } finally {
      await admin.request({ method: "DELETE", path });
    }
  });
});
