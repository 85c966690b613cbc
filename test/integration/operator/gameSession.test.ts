import { createServer } from "node:http";
import { expect } from "chai";
import type { GameSession } from "#contracts/crd/gameSession.ts";
import { publicStatusOf } from "#contracts/crd/publicStatus.ts";
import { isFinished } from "#contracts/crd/sessionConditions.ts";
import { finalizers } from "#contracts/crd/names.ts";
import type { StreamerStatus } from "#contracts/stream.ts";
import { aCacheEntry } from "#test/factories/gameNode.ts";
import { eventually } from "#test/support/clocks/eventually.ts";
import { OperatorFixture } from "#test/support/fixtures/operatorFixture.ts";

const isRunning = (session: GameSession): boolean => publicStatusOf(session) === "running";
const isFailed = ({ status }: GameSession): boolean => status?.failure?.reason === "NoCapacity";

describe("GameSession controller", function () {
  this.timeout(90_000);
  let fixture: OperatorFixture;

  async function set(options: Parameters<typeof OperatorFixture.start>[0] = {}): Promise<void> {
    fixture = await OperatorFixture.start(options);
  }

  afterEach(() => fixture.clear());

  /** Events are written behind the status, so they may be a moment late. */
  async function hasEvents(name: string, ...reasons: string[]): Promise<void> {
    await eventually(async () => {
      const seen = await fixture.eventsOf(name);
      expect(seen).to.include.members(reasons);
      return true;
    }, { what: `the events ${reasons.join(", ")}` });
  }

  it("runs a session from launch to deletion with at most 12 writes", async () => {
    await set();
    const { transport } = await fixture.startOperator();
    const { metadata: { name, namespace } } = await fixture.launch({ ttlSecondsAfterFinished: 1 });
    const started = await fixture.session(name, isRunning, "running session");
    expect(started.status).to.deep.include({ phase: "Running", nodeName: fixture.nodeNames[0], address: "192.0.2.1", ports: { media: 20_000 } });
    expect(started.status).to.include({ podIp: "10.0.0.5" });
    expect(started.status?.podRef).to.include({ name });
    expect(started.status?.conditions?.map(({ type }) => type)).to.have.members(
      ["Scheduled", "ContentReady", "SaveRestored", "PodReady", "StreamReady", "Ready", "SavePersisted", "Finished"]);

    await fixture.sessions.mergePatch({ name, namespace }, { spec: { desiredState: "Stopped", stopReason: "UserRequested" } });
    const finished = await fixture.session(name, isFinished, "finished session");
    expect(finished.status).to.deep.include({ phase: "Finished", stopReason: "UserRequested" });
    expect(finished.status?.usage).to.include({ cpuSeconds: 12.5, peakMemoryBytes: 300_000_000 });
    expect(finished.status?.save).to.include({ final: true, sequence: 1 });
    expect(finished.status).to.not.have.any.keys("failure", "podIp");
    fixture.clock.jump(1000);
    await fixture.gone(name);
    expect(await fixture.pods.find({ name, namespace }), "pod").to.equal(undefined);

    const writes = [...transport.writes, ...fixture.joypod.writes];
    expect(writes.length, JSON.stringify(writes, null, 1)).to.be.at.most(12);
    await hasEvents(name, "Scheduled", "PodCreated", "Ready", "Stopping", "Finished");
  });

  it("creates the pod ahead of the save where the files are unpacked, and reports Running only after the restore", async () => {
    await set();
    const [node = ""] = fixture.nodeNames;
    fixture.components.behaviour.cached.push(aCacheEntry());
    fixture.components.behaviour.nodesWithoutContent.add(node);
    await fixture.startOperator();
    const { metadata: { name, namespace } } = await fixture.launch();
    await eventually(async () => (await fixture.pods.find({ name, namespace }))?.status?.phase === "Running", { what: "a running pod" });
    expect(publicStatusOf(await fixture.sessions.get({ name, namespace }))).to.equal("starting");
    fixture.components.behaviour.nodesWithoutContent.delete(node);
    await fixture.sessions.mergePatch({ name, namespace }, { metadata: { annotations: { seen: "true" } } });
    await fixture.session(name, isRunning, "running session");
    expect(fixture.components.podUids.get(name)?.size).to.equal(1);
  });

  it("replaces a pod made ahead by one on another node when the save cannot be restored, without waiting for a save", async () => {
    await set({ nodes: 2 });
    const [first = "", second = ""] = fixture.nodeNames;
    fixture.components.behaviour.cached.push(aCacheEntry());
    fixture.components.behaviour.nodesWithoutSaves.add(first).add(second);
    await fixture.startOperator();
    const { metadata: { name } } = await fixture.launch({ startDeadlineSeconds: 600 });
    await fixture.session(name, ({ status }) => status?.podIp !== undefined, "address of the first pod");
    fixture.clock.jump(61_000);
    const moved = await fixture.session(name, ({ status }) => status?.nodeName === second, "session on the second node");
    expect(moved.status).to.not.have.property("podIp");
    await eventually(() => fixture.components.podUids.get(name)?.size === 2, { what: "the second pod" });
    fixture.clock.jump(61_000);
    const failed = await fixture.session(name, isFinished, "finished session");
    expect(failed.status?.failure?.reason).to.equal("DownloadTimedOut");
    expect(publicStatusOf(failed)).to.equal("error");
  });

  it("is Ready by the streamer's report before the kubelet's, across a restart", async () => {
    await set();
    const podIp = "127.0.8.17";
    const said: StreamerStatus = {
      ready: true, viewers: 0, connections: 0, lastInputAt: null, game: "waiting", encoder: "x264", codec: "h264", fps: 0, kbps: 0, mediaRestarts: 0,
    };
    let questions = 0;
    const streamer = createServer((_, response) => {
      questions++;
      response.end(JSON.stringify(said));
    }).listen(8080, podIp);
    try {
      fixture.components.behaviour.frozenStreamerIp = podIp;
      const { operator } = await fixture.startOperator();
      const { metadata: { name, namespace } } = await fixture.launch();
      await eventually(() => questions > 1, { what: "the streamer to be asked" });
      const starting = await fixture.session(name, ({ status }) => status?.podIp !== undefined, "address of the streamer");
      expect(starting.status?.podIp).to.equal(podIp);
      expect(publicStatusOf(starting)).to.equal("starting");
      said.game = "running";
      const started = await fixture.session(name, isRunning, "running session");
      expect(started.status?.podRef?.name).to.equal(name);

      await fixture.stopOperator(operator);
      await fixture.startOperator();
      await fixture.sessions.mergePatch({ name, namespace }, { metadata: { annotations: { seen: "true" } } });
      fixture.components.behaviour.frozenStreamerIp = undefined;
      const { metadata: { name: other } } = await fixture.launch({ userId: "user2" });
      await fixture.session(other, isRunning, "another running session");
      expect(publicStatusOf(await fixture.sessions.get({ name, namespace })), "the kubelet is late, not the game").to.equal("running");
    } finally {
      streamer.close();
      streamer.closeAllConnections();
    }
  });

  it("stops gracefully when the object is deleted, and removes the finalizer after the end", async () => {
    await set();
    await fixture.startOperator();
    const { metadata: { name, namespace } } = await fixture.launch();
    await fixture.session(name, isRunning, "running session");
    fixture.components.behaviour.isRecorderUnavailable = true;
    await fixture.sessions.delete({ name, namespace });
    const finished = await fixture.session(name, isFinished, "finished session");
    expect(finished.status).to.deep.include({ stopReason: "Deleted" });
    expect(finished.status?.save?.final).to.equal(true);
    expect(finished.status?.usage?.cpuSeconds).to.equal(12.5);
    await eventually(async () => await fixture.pods.find({ name, namespace }) === undefined, { what: "the pod to be gone" });
  });

  it("protects a session that was created without the API by its own finalizer", async () => {
    await set();
    await fixture.startOperator();
    const { spec } = await fixture.launch();
    const name = "by-hand";
    await fixture.sessions.create({ metadata: { name, namespace: fixture.namespace }, spec });
    const running = await fixture.session(name, isRunning, "running session");
    expect(running.metadata.finalizers).to.deep.equal([finalizers.operator]);
    await fixture.sessions.delete({ name, namespace: fixture.namespace });
    await fixture.gone(name);
    await hasEvents(name, "Finished");
  });

  it("stops an idle session, and not one that is kept alive", async () => {
    await set();
    await fixture.startOperator();
    const idle = await fixture.launch({ idleTimeoutSeconds: 600 });
    const active = await fixture.launch({ idleTimeoutSeconds: 600, userId: "user2" });
    await Promise.all([idle, active].map(({ metadata }) => fixture.session(metadata.name, isRunning, "running session")));
    const expiresAt = new Date(fixture.clock.now().getTime() + 3600_000).toISOString();
    await fixture.sessions.mergePatch(active.metadata, { spec: { expiresAt } });
    fixture.clock.jump(601_000);
    const finished = await fixture.session(idle.metadata.name, isFinished, "finished session");
    expect(finished.status).to.deep.include({ stopReason: "IdleTimeout" });
    expect(finished.status?.usage?.durationSeconds).to.be.at.most(602);
    expect(publicStatusOf(await fixture.sessions.get(active.metadata))).to.equal("running");
  });

  for (const [exitCode, stopReason, failure] of [[0, "GameExited", undefined], [3, "Failed", "GameCrashed"]] as const) {
    it(`stops a session whose game exits with ${exitCode}`, async () => {
      await set();
      await fixture.startOperator();
      const { metadata: { name, namespace } } = await fixture.launch();
      await fixture.session(name, isRunning, "running session");
      await fixture.components.endGame(name, fixture.namespace, exitCode);
      const finished = await fixture.session(name, isFinished, "finished session");
      expect(finished.status?.stopReason).to.equal(stopReason);
      expect(finished.status?.failure?.reason).to.equal(failure);
      expect(publicStatusOf(finished)).to.equal("stopped");
      expect(finished.status?.save?.final, "the save is stored").to.equal(true);
      await eventually(async () => await fixture.pods.find({ name, namespace }) === undefined, { what: "the pod to be gone" });
    });
  }

  it("tries a second node when the first does not get the files, and fails after that", async () => {
    await set({ nodes: 2 });
    const [first = "", second = ""] = fixture.nodeNames;
    fixture.components.behaviour.nodesWithoutContent.add(first);
    await fixture.startOperator();
    const { metadata: { name } } = await fixture.launch({ startDeadlineSeconds: 600 });
    await fixture.session(name, ({ status }) => status?.nodeName === first, "session on the first node");
    fixture.clock.jump(61_000);
    const moved = await fixture.session(name, isRunning, "running session");
    expect(moved.status).to.deep.include({ nodeName: second });
    expect(moved.status?.placement).to.deep.include({ attempt: 2, triedNodes: [first] });
    await hasEvents(name, "DownloadTimedOut");

    fixture.components.behaviour.nodesWithoutContent.add(second);
    const { metadata: other } = await fixture.launch({ startDeadlineSeconds: 600, userId: "user2" });
    await fixture.session(other.name, ({ status }) => status?.nodeName !== undefined, "placed session");
    fixture.clock.jump(61_000);
    await fixture.session(other.name, ({ status }) => status?.placement?.attempt === 2, "second attempt");
    fixture.clock.jump(61_000);
    const failed = await fixture.session(other.name, isFinished, "finished session");
    expect(failed.status?.failure?.reason).to.equal("DownloadTimedOut");
    expect(publicStatusOf(failed)).to.equal("error");
  });

  it("waits for a slot, takes it when one is free, and fails when none comes in time", async () => {
    await set();
    await fixture.startOperator();
    const players = await Promise.all(["a", "b", "c", "d"].map((userId) => fixture.launch({ userId, startDeadlineSeconds: 300, ttlSecondsAfterFinished: 3600 })));
    const names = players.map(({ metadata }) => metadata.name);
    const running = await eventually(async () => {
      const sessions = await Promise.all(names.map((name) => fixture.sessions.get({ name, namespace: fixture.namespace })));
      const waiting = sessions.filter(({ status }) => status?.conditions?.some(({ reason }) => reason === "NoCapacity"));
      const playing = sessions.filter(isRunning);
      return waiting.length === 2 && playing.length === 2 ? playing : undefined;
    }, { what: "two running and two waiting sessions" });
    expect(new Set(running.map(({ status }) => status?.ports?.media)).size).to.equal(2);

    await fixture.sessions.mergePatch(running[0]!.metadata, { spec: { desiredState: "Stopped", stopReason: "UserRequested" } });
    const third = await eventually(async () => {
      const sessions = await Promise.all(names.map((name) => fixture.sessions.get({ name, namespace: fixture.namespace })));
      return sessions.find((session) => isRunning(session) && !running.some(({ metadata }) => metadata.name === session.metadata.name));
    }, { what: "the third session to run" });
    expect(third.status?.ports?.media, "the freed port rests").to.not.equal(running[0]!.status?.ports?.media);

    fixture.clock.jump(301_000);
    const sessions = await eventually(async () => {
      const all = await Promise.all(names.map((name) => fixture.sessions.get({ name, namespace: fixture.namespace })));
      return all.some(isFailed) ? all : undefined;
    }, { what: "the fourth session to fail" });
    expect(sessions.filter(isFailed).map(publicStatusOf)).to.deep.equal(["error"]);
  });

  it("changes the media port when it is taken on the node", async () => {
    await set();
    fixture.components.behaviour.takenPorts.add(20_000);
    await fixture.startOperator();
    const { metadata: { name, namespace } } = await fixture.launch();
    const running = await fixture.session(name, isRunning, "running session");
    expect(running.status?.ports?.media).to.equal(20_001);
    const pod = await fixture.pods.get({ name, namespace });
    expect(pod.spec?.containers[0]?.ports?.[0]?.hostPort).to.equal(20_001);
    await hasEvents(name, "PortTaken");
  });

  it("finishes a session whose node is lost, and leaves its pod for the kubelet to end when it is back", async () => {
    await set({ environment: { HEARTBEAT_STALE_SECONDS: "35" } });
    const [node = ""] = fixture.nodeNames;
    await fixture.startOperator();
    const { metadata: { name, namespace } } = await fixture.launch();
    await fixture.session(name, isRunning, "running session");
    fixture.components.behaviour.silentNodes.add(node);
    await fixture.setNodeReady(node, false);
    await eventually(async () => (await fixture.gameNodes.get({ name: node })).status?.capacity?.schedulable === false, { what: "an unschedulable node" });
    expect(publicStatusOf(await fixture.sessions.get({ name, namespace })), "one witness is not enough").to.equal("running");
    fixture.clock.jump(36_000);
    const finished = await fixture.session(name, isFinished, "finished session");
    expect(finished.status?.failure?.reason).to.equal("NodeLost");
    expect(finished.status).to.not.have.property("usage");
    const pod = await eventually(async () => {
      const found = await fixture.pods.get({ name, namespace });
      return found.metadata.deletionTimestamp !== undefined && found.metadata.finalizers === undefined ? found : undefined;
    }, { what: "the pod to be released" });
    expect(pod.metadata.deletionGracePeriodSeconds, "not deleted by force").to.equal(120);
    fixture.components.behaviour.silentNodes.delete(node);
    await fixture.pods.mergePatch({ name, namespace }, { metadata: { annotations: { seen: "true" } } });
    await eventually(async () => await fixture.pods.find({ name, namespace }) === undefined, { what: "the pod to be gone" });
  });

  it("frees the player within a minute of a stop whose kubelet is silent, and keeps slot and port until the pod has ended", async () => {
    await set({ environment: { HEARTBEAT_STALE_SECONDS: "35" } });
    const [node = ""] = fixture.nodeNames;
    await fixture.startOperator();
    const { metadata: { name, namespace } } = await fixture.launch();
    await fixture.session(name, isRunning, "running session");
    fixture.components.behaviour.isRecorderUnavailable = true;
    fixture.components.behaviour.nodesWithoutKubelet.add(node);
    await fixture.setNodeReady(node, false);
    await fixture.sessions.mergePatch({ name, namespace }, { spec: { desiredState: "Stopped", stopReason: "UserRequested" } });
    await eventually(async () => (await fixture.pods.get({ name, namespace })).metadata.deletionTimestamp !== undefined, { what: "the pod to be deleted" });
    fixture.clock.jump(30_000);
    await fixture.components.report(node);
    fixture.clock.jump(20_000);
    const finished = await fixture.session(name, isFinished, "finished session");
    expect(finished.status).to.deep.include({ stopReason: "UserRequested" });
    expect(finished.status?.failure?.reason).to.equal("SaveNotStored");
    expect(finished.status?.conditions?.find(({ type }) => type === "SavePersisted")?.status).to.not.equal("True");
    const released = await eventually(async () => {
      const pod = await fixture.pods.get({ name, namespace });
      return pod.metadata.finalizers === undefined ? pod : undefined;
    }, { what: "the pod to be released" });
    expect(released.metadata.deletionGracePeriodSeconds, "not deleted by force").to.equal(120);

    await fixture.setNodeReady(node, true);
    await fixture.components.report(node);
    const [second, third] = [await fixture.launch({ userId: "user2" }), await fixture.launch({ userId: "user3" })];
    const others = await eventually(async () => {
      const both = await Promise.all([second, third].map(({ metadata }) => fixture.sessions.get(metadata)));
      const placed = both.find(({ status }) => status?.nodeName === node);
      const waiting = both.find(({ status }) => status?.conditions?.some(({ reason }) => reason === "NoCapacity"));
      return placed && waiting && { placed, waiting };
    }, { what: "one placed and one waiting session" });
    expect(others.placed.status?.ports?.media).to.not.equal(finished.status?.ports?.media);

    fixture.components.behaviour.nodesWithoutKubelet.delete(node);
    await fixture.pods.mergePatch({ name, namespace }, { metadata: { annotations: { seen: "true" } } });
    await eventually(async () => await fixture.pods.find({ name, namespace }) === undefined, { what: "the pod to be gone" });
    await fixture.session(others.waiting.metadata.name, ({ status }) => status?.nodeName === node, "session in the freed slot");
    const stored = await fixture.session(name, ({ status }) => status?.save?.final === true, "stored save");
    expect(stored.status?.conditions?.find(({ type }) => type === "SavePersisted")?.status).to.equal("True");
  });

  it("leaves sessions alone while most game nodes are silent together, and ends those of the silent ones when most are heard again", async () => {
    await set({ nodes: 4, environment: { HEARTBEAT_STALE_SECONDS: "35" } });
    const [node = "", ...others] = fixture.nodeNames;
    const { registry } = await fixture.startOperator();
    const { metadata: { name } } = await fixture.launch();
    await fixture.session(name, (session) => isRunning(session) && session.status?.nodeName === node, "running session");
    const lost = (isRight: (status: string | undefined, reason: string | undefined) => boolean, what: string): Promise<unknown> => eventually(async () => {
      const { status, reason } = (await fixture.gameNodes.get({ name: node })).status?.conditions?.find(({ type }) => type === "Lost") ?? {};
      return isRight(status, reason);
    }, { what });
    for (const silent of [node, ...others.slice(0, 2)]) {
      fixture.components.behaviour.silentNodes.add(silent);
      await fixture.setNodeReady(silent, false);
    }
    fixture.clock.jump(36_000);
    await fixture.components.report(others[2] ?? "");
    await lost((status, reason) => status === "Unknown" && reason === "BrakeHolds", "the brake to hold");
    expect(await registry.metrics()).to.match(/^joypod_operator_node_loss_brake 1$/m);
    fixture.clock.jump(6_000);
    expect(publicStatusOf(await fixture.sessions.get({ name, namespace: fixture.namespace }))).to.equal("running");

    for (const heard of others) {
      fixture.components.behaviour.silentNodes.delete(heard);
      await fixture.setNodeReady(heard, true);
      await fixture.components.report(heard);
    }
    await eventually(async () => {
      const all = await Promise.all(others.map((other) => fixture.gameNodes.get({ name: other })));
      return all.every(({ status }) => status?.capacity?.schedulable === true);
    }, { what: "the others to be heard" });
    fixture.clock.jump(6_000);
    const finished = await fixture.session(name, isFinished, "finished session");
    expect(finished.status?.failure?.reason).to.equal("NodeLost");
    await lost((status) => status === "True", "the node to be declared lost");
    expect(await registry.metrics()).to.match(/^joypod_operator_node_loss_brake 0$/m);
  });

  it("changes nothing about a session whose kubelet is silent while its node agent reports", async () => {
    await set({ environment: { HEARTBEAT_STALE_SECONDS: "35" } });
    const [node = ""] = fixture.nodeNames;
    await fixture.startOperator();
    const { metadata: { name, namespace } } = await fixture.launch();
    await fixture.session(name, isRunning, "running session");
    await fixture.createCache("the-question");
    await fixture.setNodeReady(node, false);
    // As the cluster's node controller does with all pods of such a node.
    await fixture.pods.mergePatchStatus({ name, namespace }, { status: { conditions: [
      { type: "Ready", status: "False", lastTransitionTime: new Date(Date.now() + 60_000).toISOString() }, { type: "ContainersReady", status: "True" }] } });
    for (const progressPercent of [10, 20, 30]) {
      fixture.clock.jump(20_000);
      await fixture.components.report(node, { entries: [aCacheEntry({ state: "Downloading", progressPercent })] });
      // Progress and heartbeat come in one report: where the one shows, the other was heard.
      await eventually(async () => {
        const cache = await fixture.caches.get({ name: "the-question", namespace });
        return cache.status?.nodes?.[0]?.progressPercent === progressPercent;
      }, { what: `${progressPercent} % in the cache's status` });
    }
    await fixture.setNodeReady(node, true);
    await eventually(async () => (await fixture.gameNodes.get({ name: node })).status?.capacity?.schedulable === true, { what: "a schedulable node" });
    expect(publicStatusOf(await fixture.sessions.get({ name, namespace }))).to.equal("running");
  });

  const obstacles: [string, (node: string) => void, string][] = [
    ["the object store is away", () => void (fixture.components.behaviour.isStoreUnavailable = true), "StoreUnreachable"],
    ["the node agent is silent", (node) => void fixture.components.behaviour.nodesWithoutAgent.add(node), "NodeAgentSilent"],
  ];
  for (const [what, befall, reason] of obstacles) {
    it(`finishes without the last save within a minute while ${what}, with failure SaveNotStored`, async () => {
      await set();
      await fixture.startOperator();
      const { metadata: { name, namespace } } = await fixture.launch();
      await fixture.session(name, isRunning, "running session");
      fixture.components.behaviour.isRecorderUnavailable = true;
      befall(fixture.nodeNames[0] ?? "");
      await fixture.sessions.mergePatch({ name, namespace }, { spec: { desiredState: "Stopped", stopReason: "UserRequested" } });
      const waiting = await fixture.session(name, ({ status }) => status?.conditions?.some((condition) => condition.type === "SavePersisted" && condition.reason === reason) ?? false, "unstored save");
      expect(isFinished(waiting)).to.equal(false);
      fixture.clock.jump(40_000);
      await fixture.components.report(fixture.nodeNames[0] ?? "");
      expect(isFinished(await fixture.sessions.get({ name, namespace }))).to.equal(false);
      fixture.clock.jump(10_000);
      const finished = await fixture.session(name, isFinished, "finished session");
      expect(finished.status?.failure?.reason).to.equal("SaveNotStored");
      expect(finished.status?.conditions?.find(({ type }) => type === "SavePersisted")?.status).to.not.equal("True");
      expect(publicStatusOf(finished)).to.equal("stopped");
      await hasEvents(name, "SaveNotStored");
    });
  }
});
