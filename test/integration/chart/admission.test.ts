import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect } from "chai";
import { parseAllDocuments } from "yaml";
import { fieldManagers } from "#contracts/crd/names.ts";
import { isForbidden, isInvalid } from "#kube/errors.ts";
import type { KubeTransport } from "#kube/transport.ts";
import { aGameSession } from "#test/factories/gameSession.ts";
import { eventually } from "#test/support/clocks/eventually.ts";
import { startKubeApiServer, type KubeApiServer } from "#test/support/cluster/kubeApiServer.ts";
import { programPath, repositoryRoot } from "#test/support/processes/programs.ts";

import { readConfig } from "#operator/config.ts";
import { buildPod } from "#operator/controllers/gameSession/pod.ts";
import { buildProbePod } from "#operator/networkProbe/probePod.ts";

const run = promisify(execFile);
const digest = "3f79bb7b435b05321651daefd374cdc681dc06faa65e374e38337b88ca046dea";
const contentPath = `/var/lib/joypod/v1/objects/${digest}/content`;
const sessionPath = "/var/lib/joypod/v1/sessions/gs-one";

/** The chart's policies, as it would install them. */
async function renderPolicies(): Promise<{ kind: string; metadata: { name: string } }[]> {
  const { stdout } = await run(await programPath("helm"), [
    "template", "joypod", join(repositoryRoot, "charts/joypod"), "--namespace", "joypod", "--kube-version", "1.35.4",
    "--set", "stores.bundled=true", "--show-only", "templates/admission-policies.yaml",
  ]);
  return parseAllDocuments(stdout).map((document) => document.toJS() as { kind: string; metadata: { name: string } });
}

function sessionPod(edit: (spec: ReturnType<typeof podSpec>) => void = () => undefined): object {
  const spec = podSpec();
  edit(spec);
  return { apiVersion: "v1", kind: "Pod", metadata: { name: "gs-one" }, spec };
}

function podSpec() {
  return {
    automountServiceAccountToken: false,
    hostNetwork: false,
    securityContext: { runAsNonRoot: true, runAsUser: 10_001 },
    containers: [{
      name: "game", image: "game",
      securityContext: { allowPrivilegeEscalation: false, privileged: false, capabilities: { drop: ["ALL"], add: undefined as string[] | undefined } },
      volumeMounts: [{ name: "game", mountPath: "/game", readOnly: true }, { name: "session", mountPath: "/session", readOnly: false }],
    }],
    volumes: [
      { name: "game", hostPath: { path: contentPath } },
      { name: "session", hostPath: { path: sessionPath } },
    ],
  };
}

describe("the chart's admission policies", () => {
  let server: KubeApiServer;
  let agent: KubeTransport;

  before(async function () {
    this.timeout(90_000);
    server = await startKubeApiServer();
    for (const name of ["joypod", "joypod-sessions"]) {
      await server.admin.request({ method: "POST", path: "/api/v1/namespaces", body: { metadata: { name } } });
    }
    for (const policy of await renderPolicies()) {
      const plural = policy.kind === "ValidatingAdmissionPolicy" ? "validatingadmissionpolicies" : "validatingadmissionpolicybindings";
      await server.admin.request({ method: "POST", path: `/apis/admissionregistration.k8s.io/v1/${plural}`, body: policy });
    }
    agent = await agentOn("node-a");
    for (const name of ["node-a", "node-b"]) {
      await server.admin.request({ method: "POST", path: "/apis/joypod.dev/v1alpha1/gamenodes", body: gameNode(name) });
    }
    await eventually(async () => isRefused(await outcome(server.admin, createPod(sessionPod((spec) => { spec.hostNetwork = true; })))),
      { timeoutMs: 30_000, what: "the policies to be in force" });
  });

  after(async () => {
    await server.stop();
  });

  /** A node agent's identity: a token bound to a pod on that node. */
  async function agentOn(nodeName: string): Promise<KubeTransport> {
    await server.admin.request({ method: "POST", path: "/api/v1/nodes", body: { metadata: { name: nodeName } } });
    await server.admin.request({
      method: "PATCH", path: "/api/v1/namespaces/joypod/serviceaccounts/joypod-node-agent", query: { fieldManager: "test" },
      contentType: "application/apply-patch+yaml", body: { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: "joypod-node-agent" } },
    });
    const pod = await server.admin.request({
      method: "POST", path: "/api/v1/namespaces/joypod/pods",
      body: { metadata: { name: `agent-${nodeName}` }, spec: { nodeName, serviceAccountName: "joypod-node-agent", containers: [{ name: "agent", image: "agent" }] } },
    }) as { metadata: { name: string; uid: string } };
    const resources = ["gamenodes", "gamenodes/status", "gamesessions", "gamesessions/status"];
    const { transport } = await server.asServiceAccount({ namespace: "joypod", name: "joypod-node-agent" },
      [{ apiGroups: ["joypod.dev"], resources, verbs: ["get", "patch", "update", "delete"] }],
      { boundPod: { name: pod.metadata.name, uid: pod.metadata.uid } });
    return transport;
  }

  const gameNode = (name: string): object => ({ apiVersion: "joypod.dev/v1alpha1", kind: "GameNode", metadata: { name }, spec: {} });

  function applyStatus(path: string, body: object): Parameters<KubeTransport["request"]>[0] {
    return {
      method: "PATCH", path: `/apis/joypod.dev/v1alpha1/${path}`, query: { fieldManager: fieldManagers.nodeAgent, force: true },
      contentType: "application/apply-patch+yaml", body: { apiVersion: "joypod.dev/v1alpha1", ...body },
    };
  }

  function createPod(body: object): Parameters<KubeTransport["request"]>[0] {
    return { method: "POST", path: "/api/v1/namespaces/joypod-sessions/pods", query: { dryRun: "All" }, body };
  }

  /** The error of a request, or undefined when it was accepted. */
  async function outcome(transport: KubeTransport, request: Parameters<KubeTransport["request"]>[0]): Promise<unknown> {
    return transport.request(request).then(() => undefined, (error: unknown) => error);
  }

  const isRefused = (error: unknown): boolean => isForbidden(error) || isInvalid(error);

  const heartbeat = (name: string): object =>
    ({ kind: "GameNode", metadata: { name }, status: { heartbeat: { renewedAt: "2030-01-01T00:00:00Z", agentVersion: "1" } } });

  it("let a node agent write the status of its own node only", async () => {
    expect(await outcome(agent, applyStatus("gamenodes/node-a/status", heartbeat("node-a")))).to.equal(undefined);
    expect(isRefused(await outcome(agent, applyStatus("gamenodes/node-b/status", heartbeat("node-b"))))).to.equal(true);
    expect(isRefused(await outcome(agent, applyStatus("gamenodes/node-a", { kind: "GameNode", metadata: { name: "node-a" }, spec: { desired: [] } })))).to.equal(true);
    expect(isRefused(await outcome(agent, { method: "DELETE", path: "/apis/joypod.dev/v1alpha1/gamenodes/node-a" }))).to.equal(true);
  });

  it("let a node agent write only sessions that were placed on its node", async () => {
    for (const [name, nodeName] of [["gs-here", "node-a"], ["gs-there", "node-b"]]) {
      await server.admin.request({
        method: "POST", path: "/apis/joypod.dev/v1alpha1/namespaces/joypod-sessions/gamesessions",
        body: {
          apiVersion: "joypod.dev/v1alpha1", kind: "GameSession", metadata: { name },
          spec: {
            userId: "u1", gameCacheRef: { name: "game" }, contentDigest: digest, launcher: "run.sh", engineDir: "engine",
            saveSlot: { slotId: "s1", number: 1, generation: 0 }, resources: { cpuMillicores: 100, memoryBytes: 2 ** 28 },
            stream: { width: 1280, height: 720, framesPerSecond: 60, codecs: ["H264"], maxBitrateKbps: 8000 },
          },
        },
      });
      await server.admin.request({
        method: "PATCH", path: `/apis/joypod.dev/v1alpha1/namespaces/joypod-sessions/gamesessions/${name}/status`,
        contentType: "application/merge-patch+json", body: { status: { nodeName } },
      });
    }
    const save = { objectKey: "saves/s1/1-x-1.tar.gz", sha256: digest, bytes: 1, generation: 1, sequence: 1, persistedAt: "2030-01-01T00:00:00Z", final: false };
    const write = (name: string): Promise<unknown> => outcome(agent,
      applyStatus(`namespaces/joypod-sessions/gamesessions/${name}/status`, { kind: "GameSession", metadata: { name }, status: { save } }));
    expect(await write("gs-here")).to.equal(undefined);
    expect(isRefused(await write("gs-there"))).to.equal(true);
  });

  it("accept the pod that the operator makes", async () => {
    const session = aGameSession({ metadata: { name: "gs-one" } });
    const { sessionPod: config } = readConfig({ STREAMER_IMAGE: "streamer", GAME_IMAGE: "game" });
    const pod = buildPod(session, { nodeName: "node-a", mediaPort: 20_000, address: "192.0.2.1", operatorPublicKey: "A".repeat(43) }, config);
    expect(await outcome(server.admin, createPod({ apiVersion: "v1", kind: "Pod", ...pod }))).to.equal(undefined);
  });

  it("accept the operator's probe pods", async () => {
    const { networkProbe } = readConfig({
      STREAMER_IMAGE: "streamer", GAME_IMAGE: "game", GAME_NETWORK: "internet", INTERNET_NAMESERVERS: "192.0.2.53", PROBE_IMAGE: "control-plane", POD_IP: "10.0.0.9",
    });
    for (const role of ["control", "covered"] as const) {
      const pod = buildProbePod(role, "joypod-sessions", networkProbe!);
      expect(await outcome(server.admin, createPod({ apiVersion: "v1", kind: "Pod", ...pod })), role).to.equal(undefined);
    }
  });

  it("let session pods mount their two folders and nothing else of the node", async () => {
    expect(await outcome(server.admin, createPod(sessionPod()))).to.equal(undefined);
    const refused: ((spec: ReturnType<typeof podSpec>) => void)[] = [
      (spec) => { spec.volumes[0]!.hostPath.path = "/etc"; },
      (spec) => { spec.volumes[0]!.hostPath.path = `${contentPath}/../../../../../..`; },
      (spec) => { spec.volumes[1]!.hostPath.path = "/var/lib/joypod-elsewhere"; },
      (spec) => { spec.volumes[1]!.hostPath.path = "/var/lib/joypod/v1/sessions/gs-other/save"; },
      (spec) => { spec.containers[0]!.volumeMounts[0]!.readOnly = false; },
      (spec) => { spec.automountServiceAccountToken = true; },
      (spec) => { spec.securityContext.runAsNonRoot = false; },
      (spec) => { spec.containers[0]!.securityContext.capabilities.add = ["SYS_ADMIN"]; },
      (spec) => { spec.containers[0]!.securityContext.allowPrivilegeEscalation = true; },
    ];
    for (const edit of refused) {
      expect(isRefused(await outcome(server.admin, createPod(sessionPod(edit)))), edit.toString()).to.equal(true);
    }
  });
});
