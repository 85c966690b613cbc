import { expect } from "chai";
import { Registry } from "prom-client";
import type { GameSession } from "#contracts/crd/gameSession.ts";
import { finalizers } from "#contracts/crd/names.ts";
import { publicStatusOf, isFinished } from "#contracts/crd/sessionState.ts";
import type { StreamerStatus } from "#contracts/stream.ts";
import type { Stored } from "#kube/api/object.ts";
import { eventually } from "#test/support/clocks/eventually.ts";
import { FaultyApi, type SeenRequest } from "#test/support/cluster/faultyApi.ts";
import { sharedKubeApiServer } from "#test/support/cluster/kubeApiServer.ts";
import { OperatorFixture } from "#test/support/fixtures/operatorFixture.ts";
import { loopbackIp } from "#test/support/processes/loopbackIp.ts";
import { FakeStreamer } from "#test/support/session/fakeStreamer.ts";

const isRunning = (session: GameSession): boolean => publicStatusOf(session) === "running";

describe("GameSession controller at a session's end", function () {
  this.timeout(90_000);
  let fixture: OperatorFixture;

  async function set(): Promise<void> {
    fixture = await OperatorFixture.start();
  }

  afterEach(() => fixture.clear());

  it("stops gracefully when the object is deleted, and removes the finalizer after the end", async () => {
    await set();
    await fixture.startOperator();
    const {
      metadata: { name, namespace },
    } = await fixture.launch();
    await fixture.session(name, isRunning, "running session");
    fixture.components.behaviour.isRecorderUnavailable = true;
    await fixture.sessions.delete({ name, namespace });
    const finished = await fixture.session(name, isFinished, "finished session");
    expect(finished.status).to.deep.include({ stopReason: "Deleted" });
    expect(finished.status?.save?.final).to.equal(true);
    expect(finished.status?.usage?.cpuSeconds).to.equal(12.5);
    await eventually(async () => (await fixture.pods.find({ name, namespace })) === undefined, {
      what: "the pod to be gone",
    });
  });

  it("gives a pod a shorter grace period before its game has started", async () => {
    await set();
    await fixture.startOperator();
    fixture.components.behaviour.frozenStreamerIp = "10.0.0.9";
    const starting = await fixture.launch();
    await eventually(async () => (await fixture.pods.find(starting.metadata))?.status?.podIP !== undefined, {
      what: "the pod to start",
    });
    expect(await graceAtStop(starting)).to.equal(10);
    fixture.components.behaviour.frozenStreamerIp = undefined;
    const played = await fixture.launch();
    await fixture.session(played.metadata.name, isRunning, "running session");
    expect(await graceAtStop(played)).to.equal(120);
  });

  it("gives a pod its full grace period if only the streamer reports that its game runs", async () => {
    await set();
    const podIp = loopbackIp();
    const streamer = await FakeStreamer.at(podIp);
    try {
      const said: StreamerStatus = {
        ready: true,
        viewers: 0,
        connections: 0,
        lastInputAt: null,
        game: "running",
        encoder: "x264enc",
        codec: "h264",
        fps: 0,
        kbps: 0,
        mediaRestarts: 0,
      };
      streamer.response = { status: 200, headers: {}, body: JSON.stringify(said) };
      fixture.components.behaviour.frozenStreamerIp = podIp;
      await fixture.startOperator();
      const session = await fixture.launch();
      await fixture.session(session.metadata.name, isRunning, "running session");
      expect(
        (await fixture.pods.get(session.metadata)).status?.containerStatuses?.[0]?.state?.running,
        "what the kubelet says of the game",
      ).to.equal(undefined);
      expect(await graceAtStop(session)).to.equal(120);
    } finally {
      streamer.stop();
    }
  });

  /**
   * Stops the session and returns its pod's grace period. The kubelet ends the pod only after it was read.
   */
  async function graceAtStop({
    metadata: { name, namespace },
  }: Stored<GameSession>): Promise<number | undefined> {
    const { silentNodes } = fixture.components.behaviour;
    const [nodeName = ""] = fixture.nodeNames;
    silentNodes.add(nodeName);
    await fixture.sessions.mergePatch(
      { name, namespace },
      { spec: { desiredState: "Stopped", stopReason: "UserRequested" } },
    );
    const pod = await eventually(
      async () => {
        const stopping = await fixture.pods.get({ name, namespace });
        return stopping.metadata.deletionTimestamp === undefined ? undefined : stopping;
      },
      { what: "the pod to be stopped" },
    );
    silentNodes.delete(nodeName);
    return pod.metadata.deletionGracePeriodSeconds;
  }

  it("adds a finalizer to a session that was created without the API", async () => {
    await set();
    await fixture.startOperator();
    const { spec } = await fixture.launch();
    const name = "by-hand";
    await fixture.sessions.create({ metadata: { name, namespace: fixture.namespace }, spec });
    const running = await fixture.session(name, isRunning, "running session");
    expect(running.metadata.finalizers).to.deep.equal([finalizers.operator]);
    await fixture.sessions.delete({ name, namespace: fixture.namespace });
    await fixture.gone(name);
    await eventually(async () => (await fixture.eventsOf(name)).includes("Finished"), {
      what: "the event Finished",
    });
  });

  it("stops an idle session but not one that is kept alive", async () => {
    await set();
    await fixture.startOperator();
    const idle = await fixture.launch({ idleTimeoutSeconds: 600 });
    const active = await fixture.launch({ idleTimeoutSeconds: 600, userId: "user2" });
    await Promise.all(
      [idle, active].map(({ metadata }) => fixture.session(metadata.name, isRunning, "running session")),
    );
    const expiresAt = new Date(fixture.clock.now().getTime() + 3600_000).toISOString();
    await fixture.sessions.mergePatch(active.metadata, { spec: { expiresAt } });
    await fixture.pass(601_000);
    const finished = await fixture.session(idle.metadata.name, isFinished, "finished session");
    expect(finished.status).to.deep.include({ stopReason: "IdleTimeout" });
    expect(publicStatusOf(await fixture.sessions.get(active.metadata))).to.equal("running");
  });

  it("stops a session at the time that an admin has planned, unless it is cancelled", async () => {
    await set();
    await fixture.startOperator();
    const at = new Date(fixture.clock.now().getTime() + 600_000).toISOString();
    const told = await fixture.launch({ plannedEnd: { at, reason: "Drained" } });
    const kept = await fixture.launch({ userId: "user2", plannedEnd: { at, reason: "Drained" } });
    await Promise.all(
      [told, kept].map(({ metadata }) => fixture.session(metadata.name, isRunning, "running session")),
    );
    await fixture.sessions.mergePatch(kept.metadata, { spec: { plannedEnd: null } });
    await fixture.pass(601_000);
    const finished = await fixture.session(told.metadata.name, isFinished, "finished session");
    expect(finished.status).to.deep.include({ stopReason: "Drained" });
    expect(finished.status?.save?.final).to.equal(true);
    expect(publicStatusOf(await fixture.sessions.get(kept.metadata))).to.equal("running");
  });

  it("restarts the idle timeout when a new operator takes over", async () => {
    await set();
    const { operator } = await fixture.startOperator();
    const expiresAt = new Date(fixture.clock.now().getTime() + 750_000).toISOString();
    const { metadata } = await fixture.launch({ idleTimeoutSeconds: 600, expiresAt });
    await fixture.session(metadata.name, isRunning, "running session");
    await fixture.stopOperator(operator);
    await fixture.pass(3_600_000);
    await fixture.startOperator();
    // The operator has processed all sessions once it has started another one.
    const later = await fixture.launch({
      idleTimeoutSeconds: 600,
      userId: "user2",
      expiresAt: new Date(fixture.clock.now().getTime() + 3_600_000).toISOString(),
    });
    await fixture.session(later.metadata.name, isRunning, "running session");
    expect(publicStatusOf(await fixture.sessions.get(metadata))).to.equal("running");
    await fixture.pass(751_000);
    const finished = await fixture.session(metadata.name, isFinished, "finished session");
    expect(finished.status).to.deep.include({ stopReason: "IdleTimeout" });
  });

  for (const [exitCode, stopReason, failure] of [
    [0, "GameExited", undefined],
    [3, "Failed", "GameCrashed"],
  ] as const) {
    it(`stops a session whose game exits with ${exitCode}`, async () => {
      await set();
      await fixture.startOperator();
      const {
        metadata: { name, namespace },
      } = await fixture.launch();
      await fixture.session(name, isRunning, "running session");
      await fixture.components.endGame(name, fixture.namespace, exitCode);
      const finished = await fixture.session(name, isFinished, "finished session");
      expect(finished.status?.stopReason).to.equal(stopReason);
      expect(finished.status?.failure?.reason).to.equal(failure);
      expect(finished.status?.exit?.code).to.equal(exitCode);
      expect(publicStatusOf(finished)).to.equal("stopped");
      expect(finished.status?.save?.final, "the save is stored").to.equal(true);
      await eventually(async () => (await fixture.pods.find({ name, namespace })) === undefined, {
        what: "the pod to be gone",
      });
    });
  }
});

describe("GameSession controller after a refused write of a session's end", function () {
  this.timeout(60_000);

  it("repeats the pass, and counts the end and the failed launch once", async () => {
    const fixture = await OperatorFixture.start();
    const api = await FaultyApi.start(await sharedKubeApiServer());
    try {
      const isStatusWrite = ({ method, path }: SeenRequest): boolean =>
        method === "PATCH" && /\/gamesessions\/[^/]+\/status$/.test(path);
      const refusedAs = [
        [409, "Conflict"],
        [403, "Forbidden"],
        [409, "Conflict"],
      ] as const;
      for (const [status, reason] of refusedAs) api.respondOnce(isStatusWrite, status, { reason });
      const registry = new Registry();
      const operator = await fixture.standByOperator(api.transport(), { registry });
      await operator.lead();
      // The first write is the last one: the session ends before it is placed.
      const {
        metadata: { name },
      } = await fixture.launch({ network: "Internet" });
      await fixture.session(name, isFinished, "finished session");
      expect(api.requests.filter(isStatusWrite)).to.have.length.above(refusedAs.length);
      const counted = async (): Promise<string[]> =>
        (await registry.metrics())
          .split("\n")
          .filter(
            (line) =>
              /^joypod_(launches_failed|sessions_finished)_total\{.*"NetworkNotAllowed"/.test(line) &&
              !line.endsWith(" 0"),
          );
      await eventually(
        async () =>
          expect(await counted()).to.have.members([
            'joypod_launches_failed_total{stage="scheduling",reason="NetworkNotAllowed"} 1',
            'joypod_sessions_finished_total{reason="NetworkNotAllowed"} 1',
          ]),
        { what: "what was counted" },
      );
    } finally {
      await fixture.clear();
      await api.stop();
    }
  });
});
