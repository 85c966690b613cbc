import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { expect } from "chai";
import { publicStatusOf } from "#contracts/crd/sessionState.ts";
import { leases } from "#kube/api/builtin.ts";
import { ResourceClient } from "#kube/client/resourceClient.ts";
import { freePort } from "#test/support/processes/childProgram.ts";
import { eventually } from "#test/support/clocks/eventually.ts";
import { FaultyApi } from "#test/support/cluster/faultyApi.ts";
import { sharedKubeApiServer } from "#test/support/cluster/kubeApiServer.ts";
import { OperatorFixture } from "#test/support/fixtures/operatorFixture.ts";
import { controlPlaneProgram } from "#test/support/processes/controlPlaneProgram.ts";
import { repositoryRoot } from "#test/support/processes/programs.ts";
import { expectDocumented } from "#test/support/metrics/metricsDocument.ts";

interface Running {
  process: ChildProcess;
  url: string;
  log: () => string;
}

describe("Operator process", function () {
  this.timeout(90_000);
  let fixture: OperatorFixture;
  let started: Running[];

  beforeEach(async () => {
    fixture = await OperatorFixture.start();
    started = [];
  });

  afterEach(async () => {
    for (const { process: child } of started)
      if (child.exitCode === null && child.signalCode === null) child.kill("SIGKILL");
    await fixture.clear();
  });

  async function start(identity: string, kubeconfigPath = fixture.kubeconfigPath): Promise<Running> {
    const port = await freePort();
    const child = spawn(process.execPath, [controlPlaneProgram("operator")], {
      cwd: repositoryRoot,
      env: {
        PATH: process.env.PATH,
        ...fixture.environment,
        KUBECONFIG: kubeconfigPath,
        HTTP_PORT: String(port),
        POD_NAME: identity,
        LEASE_SECONDS: "4",
      },
      stdio: ["ignore", "pipe", "pipe"],
    });
    let log = "";
    for (const stream of [child.stdout, child.stderr])
      stream.on("data", (chunk: Buffer) => void (log += chunk.toString()));
    const running = { process: child, url: `http://127.0.0.1:${port}`, log: () => log };
    started.push(running);
    await eventually(async () => (await fetch(`${running.url}/readyz`)).status === 200, {
      what: `${identity} to be ready`,
      timeoutMs: 30_000,
    }).catch((cause: unknown) => {
      throw new Error(`${identity} did not become ready:\n${log}`, { cause });
    });
    return running;
  }

  async function holder(): Promise<string | undefined> {
    const { admin } = await sharedKubeApiServer();
    return (
      await new ResourceClient(admin, leases).find({ namespace: fixture.namespace, name: "joypod-operator" })
    )?.spec?.holderIdentity;
  }

  it("leads, reports its state, and releases the lease on SIGTERM to a standby", async () => {
    const first = await start("operator-1");
    await eventually(async () => (await holder()) === "operator-1", { what: "operator-1 to lead" });
    const second = await start("operator-2");
    await fixture.reportNodes();
    const { metadata } = await fixture.launch();
    await fixture.session(
      metadata.name,
      (session) => publicStatusOf(session) === "running",
      "running session",
    );
    expect((await fetch(`${first.url}/healthz`)).status).to.equal(200);
    const metrics = await (await fetch(`${first.url}/metrics`)).text();
    expect(metrics)
      .to.match(/joypod_session_start_seconds_count 1/)
      .and.match(
        /joypod_kube_client_requests_total\{method="PATCH",resource="gamesessions\/status",code="200"\}/,
      );
    expectDocumented(metrics, ["Operator", "API, operator and node agent"], {
      absent: ["joypod_operator_network_policies_enforced", "joypod_relays"],
    });
    expect(metrics)
      .to.contain('joypod_leader{program="operator"} 1\n')
      .and.contain(`joypod_sessions{phase="Running",node="${fixture.nodeNames[0]}"} 1\n`)
      .and.contain(`joypod_game_node_slots_free{node="${fixture.nodeNames[0]}"} 1\n`)
      .and.contain('joypod_launch_stage_seconds_count{stage="booting"} 1\n')
      .and.contain('joypod_launches_failed_total{stage="booting",reason="StartTimedOut"} 0\n')
      .and.contain(`joypod_session_info{session="${metadata.name}",phase="Running",`);
    const standby = await (await fetch(`${second.url}/metrics`)).text();
    expect(standby, "of a standby")
      .to.contain('joypod_leader{program="operator"} 0\n')
      .and.not.contain("joypod_sessions{")
      .and.not.contain('joypod_launch_stage_seconds_count{stage="booting"} 1');

    first.process.kill("SIGTERM");
    const [exitCode] = (await once(first.process, "exit")) as [number | null];
    expect(exitCode, first.log()).to.equal(0);
    await eventually(async () => (await holder()) === "operator-2", { what: "operator-2 to lead" });
    await fixture.sessions.mergePatch(metadata, {
      spec: { desiredState: "Stopped", stopReason: "UserRequested" },
    });
    await fixture.session(
      metadata.name,
      (session) => publicStatusOf(session) === "stopped",
      "stopped session",
    );
    expect(second.log()).to.not.include('"level":"error"');
  });

  it("is replaced by a standby when killed", async () => {
    const first = await start("operator-1");
    await eventually(async () => (await holder()) === "operator-1", { what: "operator-1 to lead" });
    await fixture.reportNodes();
    await start("operator-2");
    first.process.kill("SIGKILL");
    const { metadata } = await fixture.launch();
    await fixture.session(
      metadata.name,
      (session) => publicStatusOf(session) === "running",
      "running session",
    );
    expect(await holder()).to.equal("operator-2");
  });

  it("becomes a standby if it wakes up after losing the lead, and leads again when the new leader ends", async () => {
    const first = await start("operator-1");
    await eventually(async () => (await holder()) === "operator-1", { what: "operator-1 to lead" });
    const second = await start("operator-2");
    await fixture.reportNodes();
    first.process.kill("SIGSTOP");
    await eventually(async () => (await holder()) === "operator-2", {
      what: "operator-2 to lead",
      timeoutMs: 20_000,
    });
    const { metadata } = await fixture.launch();
    await fixture.session(
      metadata.name,
      (session) => publicStatusOf(session) === "running",
      "running session",
    );
    first.process.kill("SIGCONT");
    await eventually(() => first.log().includes("The operator is a candidate again."), {
      what: "operator-1 to notice",
    });
    await eventually(async () => (await fetch(`${first.url}/readyz`)).status === 200, {
      what: "operator-1 to be ready",
    });
    expect(await holder()).to.equal("operator-2");
    const metrics = await (await fetch(`${first.url}/metrics`)).text();
    expect(metrics, "of a standby")
      .to.contain('joypod_leader{program="operator"} 0\n')
      .and.not.contain("joypod_sessions{");
    second.process.kill("SIGKILL");
    await fixture.sessions.mergePatch(metadata, {
      spec: { desiredState: "Stopped", stopReason: "UserRequested" },
    });
    await fixture.session(
      metadata.name,
      (session) => publicStatusOf(session) === "stopped",
      "stopped session",
    );
    expect([await holder(), first.process.exitCode, first.process.signalCode]).to.deep.equal([
      "operator-1",
      null,
      null,
    ]);
    expect(await (await fetch(`${first.url}/metrics`)).text())
      .to.contain('joypod_leader{program="operator"} 1\n')
      .and.contain("joypod_sessions{");
  });

  it("sends no more requests after losing the lead", async () => {
    const server = await sharedKubeApiServer();
    const api = await FaultyApi.start(server);
    try {
      const operator = await start("operator-1", api.kubeconfig());
      await eventually(async () => (await holder()) === "operator-1", { what: "operator-1 to lead" });
      await fixture.reportNodes();
      const { arrived, release } = api.holdOnce(
        ({ method, path }) => method === "POST" && path.endsWith("/pods"),
      );
      await fixture.launch();
      await arrived;
      await new ResourceClient(server.admin, leases).mergePatch(
        { namespace: fixture.namespace, name: "joypod-operator" },
        { spec: { holderIdentity: "another" } },
      );
      await eventually(() => operator.log().includes("Leadership was lost."), {
        what: "the operator to lose the lead",
      });
      const before = api.requests.length;
      release();
      await eventually(() => operator.log().includes("The operator is a candidate again."), {
        what: "the next term",
      });
      expect(
        api.requests
          .slice(before)
          .filter(({ method, path }) => method !== "GET" && !path.includes("/leases/")),
      ).to.deep.equal([]);
    } finally {
      await api.stop();
    }
  });

  it("continues without a restart after it could not renew its lease at the API server", async () => {
    const api = await FaultyApi.start(await sharedKubeApiServer());
    try {
      const operator = await start("operator-1", api.kubeconfig());
      await eventually(async () => (await holder()) === "operator-1", { what: "operator-1 to lead" });
      await fixture.reportNodes();
      const endStall = api.stall();
      await eventually(() => operator.log().includes("Leadership was lost."), {
        what: "the operator to lose the lead",
        timeoutMs: 20_000,
      });
      const { metadata } = await fixture.launch();
      endStall();
      await fixture.session(
        metadata.name,
        (session) => publicStatusOf(session) === "running",
        "running session",
      );
      expect([await holder(), operator.process.exitCode, operator.process.signalCode]).to.deep.equal([
        "operator-1",
        null,
        null,
      ]);
    } finally {
      await api.stop();
    }
  });

  it("exits on an invalid configuration, naming every invalid variable", async () => {
    const child = spawn(process.execPath, [controlPlaneProgram("operator")], {
      cwd: repositoryRoot,
      env: { PATH: process.env.PATH, SOFTWARE_SLOTS: "two" },
      stdio: ["ignore", "ignore", "pipe"],
    });
    let log = "";
    child.stderr.on("data", (chunk: Buffer) => void (log += chunk.toString()));
    const [exitCode] = (await once(child, "close")) as [number | null];
    expect(exitCode).to.equal(1);
    expect(log)
      .to.match(/STREAMER_IMAGE/)
      .and.match(/GAME_IMAGE/)
      .and.match(/SOFTWARE_SLOTS/);
  });
});
