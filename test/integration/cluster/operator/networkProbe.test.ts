import { execFile } from "node:child_process";
import { once } from "node:events";
import { createServer, type AddressInfo } from "node:net";
import { expect } from "chai";
import type { GameSession } from "#contracts/crd/gameSession.ts";
import { publicStatusOf, isFinished } from "#contracts/crd/sessionState.ts";
import { exitCodes } from "#operator/networkProbe/tryConnection.ts";
import { eventually } from "#test/support/clocks/eventually.ts";
import { OperatorFixture } from "#test/support/fixtures/operatorFixture.ts";
import { freePort } from "#test/support/processes/childProgram.ts";
import { controlPlaneProgram } from "#test/support/processes/controlPlaneProgram.ts";
import { repositoryRoot } from "#test/support/processes/programs.ts";

const isRunning = (session: GameSession): boolean => publicStatusOf(session) === "running";

const environment = {
  GAME_NETWORK: "internet",
  INTERNET_NAMESERVERS: "192.0.2.53",
  PROBE_IMAGE: "control-plane:test",
  POD_IP: "10.0.0.9",
};
const enforced = { control: exitCodes.connected, covered: exitCodes.refused };
const notEnforced = { control: exitCodes.connected, covered: exitCodes.connected };
const needsInternet = {
  network: "Internet",
  startDeadlineSeconds: 3600,
  downloadDeadlineSeconds: 3600,
} as const;

describe("Sessions with internet access", function () {
  this.timeout(90_000);
  let fixture: OperatorFixture;

  afterEach(() => fixture.clear());

  async function probePods() {
    return (
      await fixture.pods.listAll({ namespace: fixture.namespace, labelSelector: "joypod.dev/network-probe" })
    ).items;
  }

  async function metricOf({
    registry,
  }: Awaited<ReturnType<OperatorFixture["startOperator"]>>): Promise<string | undefined> {
    return /^joypod_operator_network_policies_enforced (\d)$/m.exec(await registry.metrics())?.[1];
  }

  async function failureReasonOf(name: string): Promise<string | undefined> {
    const finished = await fixture.session(name, isFinished, "finished session");
    expect(publicStatusOf(finished)).to.equal("error");
    expect(await fixture.pods.find({ name, namespace: fixture.namespace }), "pod").to.equal(undefined);
    return finished.status?.failure?.reason;
  }

  /** Launches a session that waits for the first round of a new leader's probe. */
  async function launchDuringProbe(): Promise<{
    started: Awaited<ReturnType<OperatorFixture["startOperator"]>>;
    name: string;
  }> {
    fixture = await OperatorFixture.start({ environment });
    const started = await fixture.startOperator();
    const {
      metadata: { name },
    } = await fixture.launch(needsInternet);
    await eventually(async () => (await probePods()).length === 2, { what: "two probe pods" });
    return { started, name };
  }

  it("wait for the probe, and start when it finds the policies enforced", async () => {
    fixture = await OperatorFixture.start({ environment });
    const started = await fixture.startOperator();
    await eventually(async () => (await probePods()).length === 2, { what: "two probe pods" });
    const {
      metadata: { name, namespace },
    } = await fixture.launch(needsInternet);
    await fixture.session(
      name,
      ({ status }) =>
        status?.conditions?.some(({ type, status: is }) => type === "SaveRestored" && is === "True") ?? false,
      "session whose files are ready",
    );
    expect(await fixture.pods.find({ name, namespace }), "pod before the response").to.equal(undefined);
    expect(await metricOf(started)).to.equal(undefined);
    // The simulated kubelet processes pods when they change.
    fixture.components.behaviour.probes = enforced;
    for (const { metadata } of await probePods())
      await fixture.pods.mergePatch(metadata, { metadata: { annotations: { seen: "true" } } });
    await fixture.session(name, isRunning, "running session");
    expect((await fixture.pods.get({ name, namespace })).metadata.labels).to.include({
      "joypod.dev/network": "internet",
    });
    expect(await metricOf(started)).to.equal("1");
    await eventually(async () => (await probePods()).length === 0, { what: "the probe pods to be gone" });
  });

  it("are refused if policies are not enforced, until a later round finds them enforced", async () => {
    fixture = await OperatorFixture.start({ environment });
    fixture.components.behaviour.probes = notEnforced;
    const started = await fixture.startOperator();
    const first = await fixture.launch(needsInternet);
    expect(await failureReasonOf(first.metadata.name)).to.equal("NetworkNotEnforced");
    expect(await metricOf(started)).to.equal("0");
    await fixture.session(
      (await fixture.launch()).metadata.name,
      isRunning,
      "running session without network",
    );
    fixture.components.behaviour.probes = enforced;
    await fixture.pass(600_000);
    await fixture.reportNodes();
    await eventually(async () => (await metricOf(started)) === "1", { what: "the next round" });
    const second = await fixture.launch(needsInternet);
    await fixture.session(second.metadata.name, isRunning, "running session");
  });

  it("keep waiting if a new leader's first round has no result, and start after a later one", async () => {
    const { started, name } = await launchDuringProbe();
    await fixture.pass(61_000);
    await eventually(async () => (await metricOf(started)) === "0", { what: "the round's end" });
    fixture.components.behaviour.probes = enforced;
    await fixture.pass(61_000);
    await fixture.session(name, isRunning, "running session");
    expect(await metricOf(started)).to.equal("1");
  });

  it("are refused if a new leader's probe has no result for half an hour", async () => {
    const { started, name } = await launchDuringProbe();
    await fixture.pass(1_801_000);
    expect(await failureReasonOf(name)).to.equal("NetworkNotEnforced");
    expect(await metricOf(started)).to.equal("0");
  });

  it("are refused at their start deadline if the probe has no result by then", async () => {
    fixture = await OperatorFixture.start({ environment });
    const started = await fixture.startOperator();
    const {
      metadata: { name },
    } = await fixture.launch({ ...needsInternet, startDeadlineSeconds: 90 });
    await fixture.session(
      name,
      ({ status }) =>
        status?.conditions?.some(({ type, status: is }) => type === "SaveRestored" && is === "True") ?? false,
      "session whose files are ready",
    );
    await eventually(async () => (await probePods()).length === 2, { what: "two probe pods" });
    await fixture.pass(61_000);
    await eventually(async () => (await metricOf(started)) === "0", { what: "the round's end" });
    expect(
      isFinished(await fixture.sessions.get({ name, namespace: fixture.namespace })),
      "finished before its start deadline",
    ).to.equal(false);
    await fixture.pass(30_000);
    expect(await failureReasonOf(name)).to.equal("NetworkNotEnforced");
  });

  it("are refused if the control probe cannot connect for half an hour", async () => {
    fixture = await OperatorFixture.start({ environment });
    fixture.components.behaviour.probes = { control: exitCodes.refused, covered: exitCodes.refused };
    const started = await fixture.startOperator();
    const {
      metadata: { name },
    } = await fixture.launch(needsInternet);
    await eventually(async () => (await metricOf(started)) === "0", { what: "the round's end" });
    await fixture.pass(1_800_000);
    expect(await failureReasonOf(name)).to.equal("NetworkNotEnforced");
  });

  it("have a probe that tolerates the taints of game nodes, except those that report a problem", async () => {
    fixture = await OperatorFixture.start({
      environment: { ...environment, GPU_TOLERATIONS: JSON.stringify([{ operator: "Exists" }]) },
      nodes: 2,
    });
    const taints = [
      [{ key: "pool", value: "new", effect: "NoSchedule" }],
      [{ key: "node.kubernetes.io/unreachable", effect: "NoSchedule" }],
    ];
    for (const [index, name] of fixture.nodeNames.entries())
      await fixture.nodes.mergePatch({ name }, { spec: { taints: taints[index] } });
    await fixture.startOperator();
    const [probe] = await eventually(
      async () => {
        const found = await probePods();
        return found.length === 2 ? found : undefined;
      },
      { what: "two probe pods" },
    );
    // The API server adds its own tolerations, with effect NoExecute.
    expect(probe?.spec?.tolerations?.filter(({ effect }) => effect !== "NoExecute")).to.deep.equal([
      { key: "pool", operator: "Equal", value: "new", effect: "NoSchedule" },
    ]);
  });

  it("still start for half an hour if a later round has no result", async () => {
    fixture = await OperatorFixture.start({ environment });
    fixture.components.behaviour.probes = enforced;
    const started = await fixture.startOperator();
    await eventually(async () => (await metricOf(started)) === "1", { what: "the first round" });
    fixture.components.behaviour.probes = undefined;
    await fixture.pass(600_000);
    await eventually(async () => (await probePods()).length === 2, { what: "the second round" });
    await fixture.pass(61_000);
    await eventually(async () => (await probePods()).length === 0, { what: "the second round's end" });
    await fixture.reportNodes();
    await fixture.session((await fixture.launch(needsInternet)).metadata.name, isRunning, "running session");
    await fixture.pass(1_200_000);
    await eventually(async () => (await probePods()).length === 2, { what: "the third round" });
    await fixture.pass(61_000);
    await eventually(async () => (await metricOf(started)) === "0", { what: "the end of the half hour" });
  });

  it("are refused without a probe if no game gets internet access", async () => {
    fixture = await OperatorFixture.start();
    const started = await fixture.startOperator();
    expect(await failureReasonOf((await fixture.launch(needsInternet)).metadata.name)).to.equal(
      "NetworkNotAllowed",
    );
    expect(await probePods()).to.be.empty;
    expect(await metricOf(started)).to.equal(undefined);
  });

  it("have the probe pods of a dead leader removed", async () => {
    fixture = await OperatorFixture.start({ environment });
    const left = await fixture.pods.create({
      metadata: {
        name: "network-probe-control-left",
        namespace: fixture.namespace,
        labels: { "joypod.dev/network-probe": "control" },
      },
      spec: { containers: [{ name: "probe", image: "control-plane:test" }] },
    });
    await fixture.startOperator();
    await eventually(async () => (await fixture.pods.find(left.metadata)) === undefined, {
      what: "the pod to be removed",
    });
  });
});

describe("Network probe programs", function () {
  this.timeout(60_000);
  const server = createServer((socket) => socket.destroy());
  let open: number;
  let closed: number;

  before(async () => {
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    open = (server.address() as AddressInfo).port;
    closed = await freePort();
  });
  after(() => server.close());

  function run(
    program: "networkProbe" | "networkTest",
    ...args: string[]
  ): Promise<{ code: number; stdout: string }> {
    return new Promise((resolve) => {
      execFile(
        process.execPath,
        [controlPlaneProgram(program), ...args],
        { cwd: repositoryRoot },
        (error, stdout) => {
          resolve({ code: typeof error?.code === "number" ? error.code : 0, stdout });
        },
      );
    });
  }

  it("report to the operator by their exit code", async () => {
    const [connected, refused] = await Promise.all([
      run("networkProbe", "127.0.0.1", String(open)),
      run("networkProbe", "127.0.0.1", String(closed)),
    ]);
    expect([connected.code, refused.code]).to.deep.equal([exitCodes.connected, exitCodes.refused]);
  });

  it("report to `helm test` in a sentence", async () => {
    const [good, bad] = await Promise.all([
      run("networkTest", `127.0.0.1:${open}`, `127.0.0.1:${closed}`),
      run("networkTest", `127.0.0.1:${open}`, `127.0.0.1:${open}`),
    ]);
    expect(good).to.deep.equal({ code: 0, stdout: "This cluster enforces NetworkPolicies.\n" });
    expect(bad.code).to.equal(1);
    expect(bad.stdout).to.contain("does not enforce NetworkPolicies");
  });
});
