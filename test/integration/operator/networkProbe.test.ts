import { execFile } from "node:child_process";
import { once } from "node:events";
import { createServer, type AddressInfo } from "node:net";
import { expect } from "chai";
import type { GameSession } from "#contracts/crd/gameSession.ts";
import { publicStatusOf } from "#contracts/crd/publicStatus.ts";
import { isFinished } from "#contracts/crd/sessionConditions.ts";
import { exitCodes } from "#operator/networkProbe/exitCodes.ts";
import { eventually } from "#test/support/clocks/eventually.ts";
import { OperatorStage } from "#test/support/fixtures/operatorFixture.ts";
import { freePort } from "#test/support/processes/childProgram.ts";
import { repositoryRoot } from "#test/support/processes/programs.ts";

const isRunning = (session: GameSession): boolean => publicStatusOf(session) === "running";

const environment = { GAME_NETWORK: "internet", INTERNET_NAMESERVERS: "192.0.2.53", PROBE_IMAGE: "control-plane:test", POD_IP: "10.0.0.9" };
const enforced = { control: exitCodes.connected, covered: exitCodes.refused };
const notEnforced = { control: exitCodes.connected, covered: exitCodes.connected };
const needsInternet = { network: "Internet", startDeadlineSeconds: 3600, downloadDeadlineSeconds: 3600 } as const;

describe("sessions that need the internet", function () {
  this.timeout(90_000);
  let stage: OperatorStage;

  afterEach(() => stage.clear());

  async function probePods() {
    return (await stage.pods.listAll({ namespace: stage.namespace, labelSelector: "joypod.dev/network-probe" })).items;
  }

  async function metricOf({ registry }: Awaited<ReturnType<OperatorStage["startOperator"]>>): Promise<string | undefined> {
    return /^joypod_operator_network_policies_enforced (\d)$/m.exec(await registry.metrics())?.[1];
  }

  async function refusalOf(name: string): Promise<string | undefined> {
    const finished = await stage.session(name, isFinished, "finished session");
    expect(publicStatusOf(finished)).to.equal("error");
    expect(await stage.pods.find({ name, namespace: stage.namespace }), "pod").to.equal(undefined);
    return finished.status?.failure?.reason;
  }

  it("wait for the probe, and start when it has seen the policies enforced", async () => {
    stage = await OperatorStage.set({ environment });
    const started = await stage.startOperator();
    await eventually(async () => (await probePods()).length === 2, { what: "two probe pods" });
    const { metadata: { name, namespace } } = await stage.launch(needsInternet);
    await stage.session(name, ({ status }) => status?.conditions?.some(({ type, status: is }) => type === "SaveRestored" && is === "True") ?? false, "session whose files are ready");
    expect(await stage.pods.find({ name, namespace }), "pod before the answer").to.equal(undefined);
    expect(await metricOf(started)).to.equal(undefined);
    // Whoever plays the kubelet looks at the pods when they change.
    stage.parts.behaviour.probes = enforced;
    for (const { metadata } of await probePods()) await stage.pods.mergePatch(metadata, { metadata: { annotations: { seen: "true" } } });
    await stage.session(name, isRunning, "running session");
    expect((await stage.pods.get({ name, namespace })).metadata.labels).to.include({ "joypod.dev/network": "internet" });
    expect(await metricOf(started)).to.equal("1");
    await eventually(async () => (await probePods()).length === 0, { what: "the probe pods to be gone" });
  });

  it("are refused where the policies hold nothing back, until a later round sees that they do", async () => {
    stage = await OperatorStage.set({ environment });
    stage.parts.behaviour.probes = notEnforced;
    const started = await stage.startOperator();
    const first = await stage.launch(needsInternet);
    expect(await refusalOf(first.metadata.name)).to.equal("NetworkNotEnforced");
    expect(await metricOf(started)).to.equal("0");
    await stage.session((await stage.launch()).metadata.name, isRunning, "running session without network");
    stage.parts.behaviour.probes = enforced;
    stage.clock.jump(600_000);
    await stage.reportNodes();
    await eventually(async () => await metricOf(started) === "1", { what: "the next round" });
    const second = await stage.launch(needsInternet);
    await stage.session(second.metadata.name, isRunning, "running session");
  });

  it("are refused when the probe does not find it out in time", async () => {
    stage = await OperatorStage.set({ environment });
    const started = await stage.startOperator();
    const { metadata: { name } } = await stage.launch(needsInternet);
    await eventually(async () => (await probePods()).length === 2, { what: "two probe pods" });
    stage.clock.jump(61_000);
    expect(await refusalOf(name)).to.equal("NetworkNotEnforced");
    expect(await metricOf(started)).to.equal("0");
  });

  it("are refused when not even the probe that a policy lets through can connect", async () => {
    stage = await OperatorStage.set({ environment });
    stage.parts.behaviour.probes = { control: exitCodes.refused, covered: exitCodes.refused };
    await stage.startOperator();
    expect(await refusalOf((await stage.launch(needsInternet)).metadata.name)).to.equal("NetworkNotEnforced");
  });

  it("go on to start when a later round finds nothing out, for half an hour", async () => {
    stage = await OperatorStage.set({ environment });
    stage.parts.behaviour.probes = enforced;
    const started = await stage.startOperator();
    await eventually(async () => await metricOf(started) === "1", { what: "the first round" });
    stage.parts.behaviour.probes = undefined;
    stage.clock.jump(600_000);
    await eventually(async () => (await probePods()).length === 2, { what: "the second round" });
    stage.clock.jump(61_000);
    await eventually(async () => (await probePods()).length === 0, { what: "the second round's end" });
    await stage.reportNodes();
    await stage.session((await stage.launch(needsInternet)).metadata.name, isRunning, "running session");
    stage.clock.jump(1_200_000);
    await eventually(async () => (await probePods()).length === 2, { what: "the third round" });
    stage.clock.jump(61_000);
    await eventually(async () => await metricOf(started) === "0", { what: "the end of the half hour" });
  });

  it("are refused where no game gets the internet, and nothing is probed", async () => {
    stage = await OperatorStage.set();
    const started = await stage.startOperator();
    expect(await refusalOf((await stage.launch(needsInternet)).metadata.name)).to.equal("NetworkNotAllowed");
    expect(await probePods()).to.be.empty;
    expect(await metricOf(started)).to.equal(undefined);
  });

  it("leave no probe pod of a leader that died", async () => {
    stage = await OperatorStage.set({ environment });
    const left = await stage.pods.create({
      metadata: { name: "network-probe-control-left", namespace: stage.namespace, labels: { "joypod.dev/network-probe": "control" } },
      spec: { containers: [{ name: "probe", image: "control-plane:test" }] },
    });
    await stage.startOperator();
    await eventually(async () => await stage.pods.find(left.metadata) === undefined, { what: "the pod to be removed" });
  });
});

describe("the programs that try connections", function () {
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

  function run(program: string, ...args: string[]): Promise<{ code: number; stdout: string }> {
    return new Promise((resolve) => {
      execFile(process.execPath, [`operator/src/${program}/main.ts`, ...args], { cwd: repositoryRoot }, (error, stdout) => {
        resolve({ code: typeof error?.code === "number" ? error.code : 0, stdout });
      });
    });
  }

  it("tell the operator by their exit code", async () => {
    const [connected, refused] = await Promise.all([run("networkProbe", "127.0.0.1", String(open)), run("networkProbe", "127.0.0.1", String(closed))]);
    expect([connected.code, refused.code]).to.deep.equal([exitCodes.connected, exitCodes.refused]);
  });

  it("tell the reader of `helm test` in a sentence", async () => {
    const [good, bad] = await Promise.all([
      run("networkTest", `127.0.0.1:${open}`, `127.0.0.1:${closed}`), run("networkTest", `127.0.0.1:${open}`, `127.0.0.1:${open}`),
    ]);
    expect(good).to.deep.equal({ code: 0, stdout: "This cluster enforces NetworkPolicies.\n" });
    expect(bad.code).to.equal(1);
    expect(bad.stdout).to.contain("does not enforce NetworkPolicies");
  });
});
