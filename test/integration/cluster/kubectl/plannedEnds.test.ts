import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect } from "chai";
import { parse } from "yaml";
import { announcementConfigMap } from "#contracts/announcement.ts";
import { gameNodes } from "#contracts/crd/gameNode.ts";
import { gameSessions } from "#contracts/crd/gameSession.ts";
import { configMaps, nodes } from "#kube/api/builtin.ts";
import { ResourceClient } from "#kube/client/resourceClient.ts";
import { deployments } from "#kubectl/cluster/workloads.ts";
import { createProgram } from "#kubectl/program.ts";
import { systemClock } from "#runtime/scheduling/clock.ts";
import { aGameNode } from "#test/factories/gameNode.ts";
import { aCondition, aGameSession, aRunningStatus } from "#test/factories/gameSession.ts";
import { eventually } from "#test/support/clocks/eventually.ts";
import { sharedKubeApiServer, type KubeApiServer } from "#test/support/cluster/kubeApiServer.ts";
import { repositoryRoot } from "#test/support/processes/programs.ts";

describe("kubectl joypod, for players", function () {
  this.timeout(60_000);
  let server: KubeApiServer;
  let namespace: string;
  let sessionsNamespace: string;
  let nodeName: string;
  const cleanUps: (() => Promise<void>)[] = [];

  before(async () => {
    server = await sharedKubeApiServer();
    [namespace, sessionsNamespace] = [
      await server.createNamespace("release"),
      await server.createNamespace("sessions"),
    ];
    nodeName = `node-of-${namespace}`;
    const labels = {
      "app.kubernetes.io/name": "joypod",
      "app.kubernetes.io/instance": namespace,
      "app.kubernetes.io/component": "api",
    };
    const env = [{ name: "SESSIONS_NAMESPACE", value: sessionsNamespace }];
    const template = {
      metadata: { labels },
      spec: { containers: [{ name: "api", image: "joypod/control-plane:1", env }] },
    };
    const spec = { replicas: 1, selector: { matchLabels: labels }, template };
    await new ResourceClient(server.admin, deployments).create({
      metadata: { name: "joypod-api", namespace, labels },
      spec,
    });
  });
  after(async () => {
    for (const cleanUp of cleanUps) await cleanUp();
  });

  async function addSession(name: string, status: object, spec: object = {}): Promise<void> {
    const client = new ResourceClient(server.admin, gameSessions);
    const session = aGameSession({ spec });
    await client.create({ metadata: { name, namespace: sessionsNamespace }, spec: session.spec });
    await client.mergePatchStatus({ name, namespace: sessionsNamespace }, { status });
  }

  async function addNode(name: string, spec: object = {}): Promise<void> {
    const client = new ResourceClient(server.admin, nodes);
    await client.create({ metadata: { name }, spec });
    cleanUps.push(() => client.delete({ name }));
  }

  /** Returns the output of the command. Errors are passed to the caller. */
  async function printed(...args: string[]): Promise<string> {
    const lines: string[] = [];
    const program = createProgram({
      streams: process,
      exit: () => undefined,
      clock: systemClock,
      print: (text) => lines.push(text),
      signal: new AbortController().signal,
    });
    await program.parseAsync(["--kubeconfig", server.kubeconfigPath, "--namespace", namespace, ...args], {
      from: "user",
    });
    return lines.join("\n");
  }

  async function specOf(name: string) {
    return (await new ResourceClient(server.admin, gameSessions).get({ name, namespace: sessionsNamespace }))
      .spec;
  }

  async function rejected(args: string[], message: RegExp): Promise<void> {
    const error = await printed(...args).catch((thrown: unknown) => thrown);
    expect(error).to.be.instanceOf(Error).with.property("message").that.matches(message);
  }

  it("plans the end of all games for a maintenance, and lets them go on when it ends early", async () => {
    await addSession("gs-maintained", aRunningStatus({ nodeName }));
    const shown = await printed("maintenance", "on", "--message", "New disks.", "--stop-sessions-in", "30m");
    expect(shown).to.match(/Games that are stopped at .*: \d+\. Their players were told\./);
    const { plannedEnd } = await specOf("gs-maintained");
    expect(plannedEnd).to.include({ reason: "Maintenance", message: "New disks." });
    expect(Date.parse(plannedEnd!.at) - Date.now()).to.be.closeTo(30 * 60_000, 30_000);
    expect(await printed("maintenance", "off")).to.match(/Games that can go on: \d+\./);
    expect(await specOf("gs-maintained")).to.not.have.property("plannedEnd");
  });

  it("completes commands, options, and the names of sessions and nodes", async () => {
    await addSession("gs-complete", aRunningStatus({ nodeName }));
    const client = new ResourceClient(server.admin, gameNodes);
    await client.create({ metadata: { name: nodeName }, spec: aGameNode().spec });
    cleanUps.push(() => client.delete({ name: nodeName }));
    const completed = async (...words: string[]) => (await printed("__complete", "--", ...words)).split("\n");
    expect(await completed("ses")).to.deep.equal(["sessions", "session", ":4"]);
    expect(await completed("maintenance", "o")).to.deep.equal(["on", "off", ":4"]);
    expect(await completed("stop", "--w")).to.deep.equal(["--wait", ":4"]);
    expect(await completed("status", "--output", "")).to.deep.equal(["json", "yaml", ":4"]);
    expect(await completed("session", "gs-comp")).to.deep.equal(["gs-complete", ":4"]);
    expect(await completed("stop", "gs-complete", "gs-comp")).to.deep.equal([":4"]);
    expect(await completed("drain", nodeName.slice(0, -1))).to.deep.equal([nodeName, ":4"]);
    expect(await completed("--namespace", "nothing-here", "session", "")).to.deep.equal([":4"]);
    const script = join(repositoryRoot, "kubectl/bin/kubectl_complete-joypod");
    expect((await promisify(execFile)(script, ["anno"])).stdout).to.equal("announce\n:4\n");
  });

  it("prints YAML that says the same as JSON", async () => {
    await addSession("gs-yaml", aRunningStatus({ nodeName }));
    const [yaml, json] = [await printed("sessions", "-o", "yaml"), await printed("sessions", "-o", "json")];
    expect(parse(yaml)).to.deep.equal(JSON.parse(json)).and.not.be.empty;
  });

  it("tells players before it stops their session", async () => {
    await addSession("gs-told", aRunningStatus({ nodeName }));
    expect(await printed("stop", "--in", "5m", "gs-told")).to.match(/^gs-told: stopped at .* told\.$/);
    expect((await specOf("gs-told")).plannedEnd).to.include({ reason: "Deleted" });
    await rejected(["stop", "--in", "5m", "gs-none"], /Not found, or already over: gs-none/);
    await rejected(["stop", "--in", "soon", "gs-told"], /Specify a duration/);
  });

  it("announces a message in the ConfigMap that the API watches, and removes it", async () => {
    const client = new ResourceClient(server.admin, configMaps);
    const ref = { name: announcementConfigMap, namespace };
    expect(await printed("announce", "Tournament at 20:00!", "--for", "1h")).to.match(
      /sees the message until/,
    );
    const { data = {} } = await client.get(ref);
    expect(data.message).to.equal("Tournament at 20:00!");
    expect(Date.parse(data.until ?? "") - Date.parse(data.since ?? "")).to.equal(3_600_000);
    expect(await printed("announce", "--clear")).to.equal("The message is removed.");
    expect(await printed("announce", "--clear")).to.equal("There was no message.");
    await rejected(["announce"], /Specify either a message or --clear/);
  });

  it("drains a node: cordons it, tells its players, and waits for the end of their games", async () => {
    const drained = `drained-${namespace}`;
    const kubernetesNodes = new ResourceClient(server.admin, nodes);
    await addNode(drained);
    await addSession("gs-elsewhere", aRunningStatus({ nodeName }));
    await addSession("gs-drained", aRunningStatus({ nodeName: drained }));
    const draining = printed("drain", drained, "--patience", "2h", "--message", "New disks.");
    const { plannedEnd } = await eventually(
      async () => {
        const spec = await specOf("gs-drained");
        return spec.plannedEnd === undefined ? undefined : spec;
      },
      { what: "the planned end" },
    );
    expect(plannedEnd).to.include({ reason: "Drained", message: "New disks." });
    expect(Date.parse(plannedEnd!.at) - Date.now()).to.be.closeTo(7_200_000, 30_000);
    expect((await kubernetesNodes.get({ name: drained })).spec).to.include({ unschedulable: true });
    expect(await specOf("gs-elsewhere")).to.not.have.property("plannedEnd");
    await new ResourceClient(server.admin, gameSessions).mergePatchStatus(
      { name: "gs-drained", namespace: sessionsNamespace },
      { status: { conditions: [aCondition("Finished"), aCondition("SavePersisted")] } },
    );
    expect((await draining).split("\n")).to.deep.equal([
      `${drained} is cordoned: it takes no new sessions.`,
      `1 game is played. Players were told that they end at ${plannedEnd!.at}.`,
      `${drained} is drained: no game runs on it, and all saves are stored. Run \`kubectl uncordon ${drained}\` when it may take sessions again.`,
    ]);
  });

  it("cancels a drain", async () => {
    const drained = `kept-${namespace}`;
    await addNode(drained, { unschedulable: true });
    const plannedEnd = { at: new Date(Date.now() + 60_000).toISOString(), reason: "Drained" };
    await addSession("gs-kept", aRunningStatus({ nodeName: drained }), { plannedEnd });
    expect(await printed("drain", drained, "--cancel")).to.equal(
      `${drained} takes sessions again. Players who can go on: 1.`,
    );
    expect(await specOf("gs-kept")).to.not.have.property("plannedEnd");
    await rejected(["drain", "no-such-node"], /not found/i);
  });
});
