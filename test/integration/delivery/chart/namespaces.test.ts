import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { expect } from "chai";
import { namespaces } from "#kube/api/builtin.ts";
import { isForbidden } from "#kube/api/errors.ts";
import { ResourceClient } from "#kube/client/resourceClient.ts";
import { render as renderChart, values as valuesOf } from "#test/support/chart/helmTemplate.ts";
import { sharedKubeApiServer, type KubeApiServer } from "#test/support/cluster/kubeApiServer.ts";
import { programPath, repositoryRoot } from "#test/support/processes/programs.ts";

const run = promisify(execFile);
const profile = "pod-security.kubernetes.io/";
const restricted = {
  [`${profile}enforce`]: "restricted",
  [`${profile}warn`]: "restricted",
  [`${profile}audit`]: "restricted",
};

interface Manifest {
  kind: string;
  metadata: { name: string; namespace?: string; labels?: Record<string, string> };
  spec?: {
    containers?: object[];
    template?: { spec: { volumes?: object[] } };
    volumeClaimTemplates?: { metadata: { name: string } }[];
  };
}

/** A pod that the chart makes, by itself or through a controller. */
interface ChartPod {
  name: string;
  namespace: string;
  spec: object;
}

const render = (values: string, ...args: string[]): Promise<Manifest[]> =>
  renderChart<Manifest>(...valuesOf(values), ...args);

function podsOf(manifests: Manifest[]): ChartPod[] {
  return manifests.flatMap(({ metadata: { name, namespace = "joypod" }, spec }): ChartPod[] => {
    if (spec?.template === undefined)
      return spec?.containers === undefined ? [] : [{ name, namespace, spec }];
    // As a StatefulSet's controller adds them.
    const claims = (spec.volumeClaimTemplates ?? []).map((claim) => ({
      name: claim.metadata.name,
      persistentVolumeClaim: { claimName: claim.metadata.name },
    }));
    return [
      {
        name,
        namespace,
        spec: { ...spec.template.spec, volumes: [...(spec.template.spec.volumes ?? []), ...claims] },
      },
    ];
  });
}

describe("the chart's namespaces", function () {
  this.timeout(60_000);
  let server: KubeApiServer;

  before(async () => {
    server = await sharedKubeApiServer();
  });

  const freshName = (): string => `restricted-${randomBytes(4).toString("hex")}`;
  const labelsOf = async (name: string) =>
    (await new ResourceClient(server.admin, namespaces).get({ name })).metadata.labels;

  /** Runs a script of the repository, or of its guide, as an administrator of the cluster. */
  async function bash(script: string): Promise<void> {
    const kubectl = await programPath("kubectl");
    const env = {
      PATH: `${dirname(kubectl)}:${process.env.PATH ?? ""}`,
      HOME: process.env.HOME,
      KUBECONFIG: server.kubeconfigPath,
    };
    await run("bash", ["-euo", "pipefail", "-c", script], { cwd: repositoryRoot, env });
  }

  /** Whether the namespace takes such a pod. */
  async function takes(namespace: string, { name, spec }: ChartPod): Promise<boolean> {
    try {
      const body = {
        metadata: { name: `${name}-pod`, namespace },
        spec: { ...spec, priorityClassName: undefined, restartPolicy: "Always" },
      };
      await server.admin.request({
        method: "POST",
        path: `/api/v1/namespaces/${namespace}/pods`,
        query: { dryRun: "All" },
        body,
      });
      return true;
    } catch (error) {
      if (isForbidden(error) && error.message.includes("violates PodSecurity")) return false;
      throw error;
    }
  }

  it("include a release namespace that `make up` makes restricted, whether new or of an earlier release", async () => {
    const [fresh, former] = [freshName(), await server.createNamespace("former")];
    for (const name of [fresh, fresh, former])
      await bash(`kubectlDo() { kubectl "$@"; }; . tools/platform/release.sh; ensureRestricted ${name}`);
    for (const name of [fresh, former]) expect(await labelsOf(name), name).to.include(restricted);
  });

  it("include a release namespace that the install guide makes restricted", async () => {
    const name = freshName();
    const [, commands = ""] =
      /^```sh namespace\n([^`]+)^```$/m.exec(readFileSync(join(repositoryRoot, "docs/install.md"), "utf8")) ??
      [];
    expect(commands).to.contain("namespace joypod");
    await bash(commands.replaceAll("namespace joypod", `namespace ${name}`));
    expect(await labelsOf(name)).to.include(restricted);
  });

  it("accept the chart's pods: restricted ones in the release's, agents only in their own", async () => {
    const [release, nodes] = [freshName(), freshName()];
    const client = new ResourceClient(server.admin, namespaces);
    await client.create({ metadata: { name: release, labels: restricted } });
    for (const values of ["bundled", "external"]) {
      const manifests = await render(values);
      const labels =
        manifests.find(({ kind, metadata }) => kind === "Namespace" && metadata.name === "joypod-nodes")
          ?.metadata.labels ?? {};
      await client.apply({ metadata: { name: nodes, labels } }, { fieldManager: "test" });
      const pods = podsOf(manifests);
      expect(pods.map(({ name }) => name)).to.include.members([
        "joypod-api",
        "joypod-operator",
        "joypod-node-agent",
        "joypod-connection-test",
        "joypod-pre-pull",
        "joypod-network-test",
      ]);
      for (const pod of pods) {
        const isAgent = pod.name === "joypod-node-agent" || pod.name === "joypod-connection-test";
        // Of the session's images and on game nodes, and yet with no right over them.
        const isPrePull = pod.name === "joypod-pre-pull";
        expect(pod.namespace, pod.name).to.equal(isAgent || isPrePull ? "joypod-nodes" : "joypod");
        expect(await takes(release, pod), `${pod.name} in the release's`).to.equal(!isAgent);
        expect(await takes(nodes, pod), `${pod.name} in the agents'`).to.equal(true);
      }
    }
  });

  it("are created by the chart by default, except the release's own", async () => {
    const namesOf = async (...args: string[]): Promise<string[]> =>
      (await render("bundled", ...args))
        .filter(({ kind }) => kind === "Namespace")
        .map(({ metadata }) => metadata.name);
    expect(await namesOf()).to.have.members(["joypod-sessions", "joypod-nodes"]);
    expect(
      await namesOf("--set", "nodeAgent.namespace=agents", "--set", "sessions.createNamespace=false"),
    ).to.deep.equal(["agents"]);
    expect(await namesOf("--set", "nodeAgent.createNamespace=false")).to.deep.equal(["joypod-sessions"]);
    expect(await namesOf("--set", "nodeAgent.namespace=joypod")).to.deep.equal(["joypod-sessions"]);
  });

  it("include one with everything that game nodes run besides sessions, and nothing else", async () => {
    const manifests = await render("bundled");
    const inNodes = manifests
      .filter(({ metadata }) => metadata.namespace === "joypod-nodes")
      .map(({ kind, metadata }) => `${kind} ${metadata.name}`);
    expect(inNodes).to.have.members([
      "DaemonSet joypod-node-agent",
      "NetworkPolicy joypod-node-agent",
      "NetworkPolicy joypod-node-agent-egress",
      "ServiceAccount joypod-node-agent",
      "DaemonSet joypod-connection-test",
      "NetworkPolicy joypod-connection-test",
      "Service joypod-connection-test",
      "DaemonSet joypod-pre-pull",
      "NetworkPolicy joypod-pre-pull",
      // For the job that copies their keys.
      "Role joypod-store-keys",
      "RoleBinding joypod-store-keys",
      // For the Leases in which the agents renew their heartbeats.
      "Role joypod-node-agent-heartbeats",
      "RoleBinding joypod-node-agent-heartbeats",
      "Role joypod-operator-heartbeats",
      "RoleBinding joypod-operator-heartbeats",
    ]);
    const subjects = manifests.filter(
      ({ kind, metadata }) => kind.endsWith("RoleBinding") && metadata.name.endsWith("node-agent"),
    );
    expect(subjects).to.have.length(2);
    for (const binding of subjects)
      expect(binding).to.have.deep.property("subjects", [
        { kind: "ServiceAccount", name: "joypod-node-agent", namespace: "joypod-nodes" },
      ]);
    const agent = JSON.stringify(
      manifests.find(({ kind, metadata }) => kind === "DaemonSet" && metadata.name === "joypod-node-agent"),
    );
    expect(agent.match(/"secretKeyRef":\{"name":"[^"]+"/g))
      .to.have.length(5)
      .and.satisfy((refs: string[]) => refs.every((ref) => ref.endsWith('"joypod-node-agent-store"')));
  });
});
