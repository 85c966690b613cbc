import { randomBytes } from "node:crypto";
import { createServer } from "node:http";
import { expect } from "chai";
import type { GameSession } from "#contracts/crd/gameSession.ts";
import { publicStatusOf, isFinished } from "#contracts/crd/sessionState.ts";
import type { StreamerStatus } from "#contracts/stream.ts";
import { bearerTicket, readTicket, ticketVerifyingKey } from "#contracts/streamTicket.ts";
import { aCacheEntry } from "#test/factories/gameNode.ts";
import { eventually } from "#test/support/clocks/eventually.ts";
import type { Write } from "#test/support/cluster/countedTransport.ts";
import { podIp } from "#test/support/cluster/fakeComponents.ts";
import { OperatorFixture } from "#test/support/fixtures/operatorFixture.ts";
import { loopbackIp } from "#test/support/processes/loopbackIp.ts";

const isRunning = (session: GameSession): boolean => publicStatusOf(session) === "running";
const isFailed = ({ status }: GameSession): boolean => status?.failure?.reason === "NoCapacity";

describe("GameSession controller", function () {
  this.timeout(90_000);
  let fixture: OperatorFixture;

  async function set(options: Parameters<typeof OperatorFixture.start>[0] = {}): Promise<void> {
    fixture = await OperatorFixture.start(options);
  }

  afterEach(() => fixture.clear());

  /** Events are written after the status, so they may arrive a moment later. */
  async function hasEvents(name: string, ...reasons: string[]): Promise<void> {
    await eventually(
      async () => {
        const seen = await fixture.eventsOf(name);
        expect(seen).to.include.members(reasons);
        return true;
      },
      { what: `the events ${reasons.join(", ")}` },
    );
  }

  it("runs a session from launch to deletion with at most 12 writes, 5 of them up to Ready", async () => {
    await set();
    const { transport } = await fixture.startOperator();
    const {
      metadata: { name, namespace },
    } = await fixture.launch({ ttlSecondsAfterFinished: 60 });
    const writes = (): Write[] => [...fixture.joypod.writes, ...transport.writes];
    const started = await fixture.session(name, isRunning, "running session");
    await fixture.responses();
    expect(writes().length, JSON.stringify(writes(), null, 1)).to.be.at.most(5);
    expect(started.status).to.deep.include({
      phase: "Running",
      nodeName: fixture.nodeNames[0],
      address: "192.0.2.1",
      ports: { media: 20_000 },
    });
    expect(started.status).to.include({ podIp });
    expect(started.status?.podRef).to.include({ name });
    expect(started.status?.conditions?.map(({ type }) => type)).to.have.members([
      "Scheduled",
      "ContentReady",
      "SaveRestored",
      "PodReady",
      "StreamReady",
      "Ready",
      "SavePersisted",
      "Finished",
    ]);

    await fixture.sessions.mergePatch(
      { name, namespace },
      { spec: { desiredState: "Stopped", stopReason: "UserRequested" } },
    );
    const finished = await fixture.session(name, isFinished, "finished session");
    expect(finished.status).to.deep.include({ phase: "Finished", stopReason: "UserRequested" });
    expect(finished.status?.usage).to.include({ cpuSeconds: 12.5, peakMemoryBytes: 300_000_000 });
    expect(finished.status?.save).to.include({ final: true, sequence: 1 });
    expect(finished.status).to.not.have.any.keys("failure", "podIp");
    await fixture.pass(60_000);
    await fixture.gone(name);
    expect(await fixture.pods.find({ name, namespace }), "pod").to.equal(undefined);

    expect(writes().length, JSON.stringify(writes(), null, 1)).to.be.at.most(12);
    await hasEvents(name, "Scheduled", "PodCreated", "Ready", "Stopping", "Finished");
  });

  it("creates the pod before the save is restored if the files are unpacked, and reports Running only after the restore", async () => {
    await set();
    const [node = ""] = fixture.nodeNames;
    fixture.components.behaviour.cached.push(aCacheEntry());
    fixture.components.behaviour.nodesWithoutContent.add(node);
    await fixture.startOperator();
    const {
      metadata: { name, namespace },
    } = await fixture.launch();
    await eventually(
      async () => (await fixture.pods.find({ name, namespace }))?.status?.phase === "Running",
      { what: "a running pod" },
    );
    expect(publicStatusOf(await fixture.sessions.get({ name, namespace }))).to.equal("starting");
    fixture.components.behaviour.nodesWithoutContent.delete(node);
    await fixture.sessions.mergePatch({ name, namespace }, { metadata: { annotations: { seen: "true" } } });
    await fixture.session(name, isRunning, "running session");
    expect(fixture.components.podUids.get(name)?.size).to.equal(1);
  });

  it("creates the pod as soon as the GameNode reports the end of a fill, without a report in the session", async () => {
    await set();
    const [node = ""] = fixture.nodeNames;
    fixture.components.behaviour.nodesWithoutContent.add(node);
    await fixture.startOperator();
    const {
      metadata: { name, namespace },
    } = await fixture.launch();
    await fixture.session(name, ({ status }) => status?.nodeName === node, "placed session");
    // A placed session is reconciled again, like one that waits for a place.
    await fixture.pass(5_000);
    await fixture.responses();
    await fixture.components.report(node, { entries: [aCacheEntry()] });
    await eventually(() => fixture.pods.find({ name, namespace }), { what: "the pod" });
  });

  it("does not place a session on a node without room for its pod, even if it holds the game", async () => {
    await set({ nodes: 2 });
    const [small = "", large = ""] = fixture.nodeNames;
    await fixture.startOperator();
    await fixture.setAllocatable(small, { cpu: "4", memory: "4Gi" });
    await fixture.setAllocatable(large, { cpu: "4", memory: "64Gi" });
    await fixture.components.report(small, { entries: [aCacheEntry()] });
    const other = await fixture.addOtherPod(small, { cpu: "100m", memory: "3500Mi" });
    await eventually(
      async () => {
        await fixture.pass(2000);
        return (
          (await fixture.gameNodes.get({ name: small })).status?.capacity?.offered?.memoryBytes ===
          596 * 2 ** 20
        );
      },
      { what: "the other pod to be counted" },
    );
    const {
      metadata: { name },
    } = await fixture.launch();
    const started = await fixture.session(name, isRunning, "running session");
    expect(started.status).to.include({ nodeName: large });
    expect(started.status?.placement).to.deep.include({ attempt: 1, triedNodes: [] });
    await fixture.pods.delete(other.metadata, { gracePeriodSeconds: 0 });
  });

  it("waits until a node has room for the pod, and reports the missing resources", async () => {
    await set();
    const [node = ""] = fixture.nodeNames;
    await fixture.startOperator();
    await fixture.setAllocatable(node, { cpu: "4", memory: "512Mi" });
    await eventually(
      async () => (await fixture.gameNodes.get({ name: node })).status?.capacity?.offered !== undefined,
      { what: "the node's memory to be known" },
    );
    const {
      metadata: { name },
    } = await fixture.launch();
    const waiting = await fixture.session(
      name,
      ({ status }) => status?.conditions?.some(({ reason }) => reason === "InsufficientResources") ?? false,
      "waiting session",
    );
    expect(waiting.status?.conditions?.find(({ type }) => type === "Scheduled")?.message)
      .to.contain("1024 MiB of memory")
      .and.contain(`${node} has 512 MiB`);
    expect(waiting.status).to.not.have.any.keys("nodeName");
    await fixture.setAllocatable(node, { cpu: "4", memory: "2Gi" });
    await fixture.pass(5000);
    await fixture.session(name, isRunning, "running session");
  });

  it("replaces a waiting pod by one on another node if the save cannot be restored", async () => {
    await set({ nodes: 2 });
    const [first = "", second = ""] = fixture.nodeNames;
    fixture.components.behaviour.cached.push(aCacheEntry());
    fixture.components.behaviour.nodesWithoutSaves.add(first).add(second);
    await fixture.startOperator();
    const {
      metadata: { name },
    } = await fixture.launch({ startDeadlineSeconds: 600 });
    await fixture.session(name, ({ status }) => status?.podIp !== undefined, "address of the first pod");
    await fixture.pass(61_000);
    const moved = await fixture.session(
      name,
      ({ status }) => status?.nodeName === second,
      "session on the second node",
    );
    expect(moved.status).to.not.have.property("podIp");
    await eventually(() => fixture.components.podUids.get(name)?.size === 2, { what: "the second pod" });
    await fixture.pass(61_000);
    const failed = await fixture.session(name, isFinished, "finished session");
    expect(failed.status?.failure?.reason).to.equal("DownloadTimedOut");
    expect(publicStatusOf(failed)).to.equal("error");
  });

  it("sets Ready from the streamer's report, authorized by a ticket, before the kubelet's report and across a restart", async () => {
    await set({ environment: { TICKET_SECRET: randomBytes(32).toString("base64") } });
    const podIp = loopbackIp();
    const said: StreamerStatus = {
      ready: true,
      viewers: 0,
      connections: 0,
      lastInputAt: null,
      game: "waiting",
      encoder: "x264enc",
      codec: "h264",
      fps: 0,
      kbps: 0,
      mediaRestarts: 0,
      picture: { renderer: "software", width: 1280, height: 720, maxFps: 30, obstacle: "NoRenderNode" },
    };
    let questions = 0;
    const streamer = createServer((request, response) => {
      void operatorKeys().then((keys) => {
        const ticket = bearerTicket(request.headers.authorization) ?? "";
        const isGenuine = keys.some(
          ({ session, key }) =>
            readTicket(ticket, ticketVerifyingKey(key), fixture.clock.now())?.aud === session,
        );
        questions++;
        response.writeHead(isGenuine ? 200 : 401).end(isGenuine ? JSON.stringify(said) : "");
      });
    }).listen(8080, podIp);
    try {
      fixture.components.behaviour.frozenStreamerIp = podIp;
      const { operator, transport } = await fixture.startOperator();
      const {
        metadata: { name, namespace },
      } = await fixture.launch({ profile: "Gpu" });
      await eventually(() => questions > 1, { what: "the streamer to be asked" });
      const starting = await fixture.session(
        name,
        ({ status }) => status?.podIp !== undefined,
        "address of the streamer",
      );
      expect(starting.status?.podIp).to.equal(podIp);
      expect(publicStatusOf(starting)).to.equal("starting");
      said.game = "running";
      const started = await fixture.session(name, isRunning, "running session");
      await fixture.responses();
      expect(started.status?.podRef?.name).to.equal(name);
      expect(
        fixture.joypod.writes.length + transport.writes.length,
        "writes up to Ready, with one for the streamer's address",
      ).to.be.at.most(6);
      expect(started.status?.stream, "in the same write").to.deep.equal({
        renderer: "software",
        encoder: "x264enc",
        codec: "H264",
        width: 1280,
        height: 720,
        fps: 30,
      });
      expect(started.status?.conditions?.find(({ type }) => type === "Accelerated")).to.include({
        status: "False",
        reason: "NoRenderNode",
      });
      await hasEvents(name, "Ready", "NoRenderNode");

      await fixture.stopOperator(operator);
      await fixture.startOperator();
      await fixture.sessions.mergePatch({ name, namespace }, { metadata: { annotations: { seen: "true" } } });
      fixture.components.behaviour.frozenStreamerIp = undefined;
      const {
        metadata: { name: other },
      } = await fixture.launch({ userId: "user2" });
      await fixture.session(other, isRunning, "another running session");
      expect(
        publicStatusOf(await fixture.sessions.get({ name, namespace })),
        "the kubelet is late, not the game",
      ).to.equal("running");
    } finally {
      streamer.close();
      streamer.closeAllConnections();
    }
  });

  /** Returns the keys in the pods' environment with which their streamers verify the operator's tickets. */
  async function operatorKeys(): Promise<{ session: string; key: string }[]> {
    const { items } = await fixture.pods.list({ namespace: fixture.namespace });
    return items.map(({ metadata: { name }, spec }) => ({
      session: name,
      key:
        spec?.initContainers?.[0]?.env?.find((variable) => variable.name === "OPERATOR_PUBLIC_KEY")?.value ??
        "",
    }));
  }

  it("tries a second node if the first does not get the files, then fails", async () => {
    await set({ nodes: 2 });
    const [first = "", second = ""] = fixture.nodeNames;
    fixture.components.behaviour.nodesWithoutContent.add(first);
    await fixture.startOperator();
    const {
      metadata: { name },
    } = await fixture.launch({ startDeadlineSeconds: 600 });
    await fixture.session(name, ({ status }) => status?.nodeName === first, "session on the first node");
    await fixture.pass(61_000);
    const moved = await fixture.session(name, isRunning, "running session");
    expect(moved.status).to.deep.include({ nodeName: second });
    expect(moved.status?.placement).to.deep.include({ attempt: 2, triedNodes: [first] });
    await hasEvents(name, "DownloadTimedOut");

    fixture.components.behaviour.nodesWithoutContent.add(second);
    const { metadata: other } = await fixture.launch({ startDeadlineSeconds: 600, userId: "user2" });
    await fixture.session(other.name, ({ status }) => status?.nodeName !== undefined, "placed session");
    await fixture.pass(61_000);
    await fixture.session(other.name, ({ status }) => status?.placement?.attempt === 2, "second attempt");
    await fixture.pass(61_000);
    const failed = await fixture.session(other.name, isFinished, "finished session");
    expect(failed.status?.failure?.reason).to.equal("DownloadTimedOut");
    expect(publicStatusOf(failed)).to.equal("error");
  });

  it("waits for a free slot, and fails if there is none in time", async () => {
    await set();
    await fixture.startOperator();
    const players = await Promise.all(
      ["a", "b", "c", "d"].map((userId) =>
        fixture.launch({ userId, startDeadlineSeconds: 300, ttlSecondsAfterFinished: 3600 }),
      ),
    );
    const names = players.map(({ metadata }) => metadata.name);
    const running = await eventually(
      async () => {
        const sessions = await Promise.all(
          names.map((name) => fixture.sessions.get({ name, namespace: fixture.namespace })),
        );
        const waiting = sessions.filter(({ status }) =>
          status?.conditions?.some(({ reason }) => reason === "NoCapacity"),
        );
        const playing = sessions.filter(isRunning);
        return waiting.length === 2 && playing.length === 2 ? playing : undefined;
      },
      { what: "two running and two waiting sessions" },
    );
    expect(new Set(running.map(({ status }) => status?.ports?.media)).size).to.equal(2);

    await fixture.sessions.mergePatch(running[0]!.metadata, {
      spec: { desiredState: "Stopped", stopReason: "UserRequested" },
    });
    const third = await eventually(
      async () => {
        const sessions = await Promise.all(
          names.map((name) => fixture.sessions.get({ name, namespace: fixture.namespace })),
        );
        return sessions.find(
          (session) =>
            isRunning(session) && !running.some(({ metadata }) => metadata.name === session.metadata.name),
        );
      },
      { what: "the third session to run" },
    );
    expect(third.status?.ports?.media, "the freed port rests").to.not.equal(running[0]!.status?.ports?.media);

    await fixture.pass(301_000);
    const sessions = await eventually(
      async () => {
        const all = await Promise.all(
          names.map((name) => fixture.sessions.get({ name, namespace: fixture.namespace })),
        );
        return all.some(isFailed) ? all : undefined;
      },
      { what: "the fourth session to fail" },
    );
    expect(sessions.filter(isFailed).map(publicStatusOf)).to.deep.equal(["error"]);
  });

  it("changes the media port if it is taken on the node", async () => {
    await set();
    fixture.components.behaviour.takenPorts.add(20_000);
    await fixture.startOperator();
    const {
      metadata: { name, namespace },
    } = await fixture.launch();
    const running = await fixture.session(name, isRunning, "running session");
    expect(running.status?.ports?.media).to.equal(20_001);
    const pod = await fixture.pods.get({ name, namespace });
    expect(pod.spec?.containers[0]?.ports?.[0]?.hostPort).to.equal(20_001);
    await hasEvents(name, "PortTaken");
  });

  it("tries media ports until one is free within one attempt, and remembers taken ones", async () => {
    await set();
    for (const port of [20_000, 20_001, 20_002]) fixture.components.behaviour.takenPorts.add(port);
    await fixture.startOperator();
    const first = await fixture.launch();
    const { status } = await fixture.session(first.metadata.name, isRunning, "running session");
    expect(status?.ports?.media).to.equal(20_003);
    expect(status?.placement).to.include({ attempt: 1 });
    await fixture.pass(61_000);
    fixture.components.behaviour.takenPorts.clear();
    const second = await fixture.launch({ userId: "user2" });
    expect(
      (await fixture.session(second.metadata.name, isRunning, "second running session")).status?.ports?.media,
    ).to.equal(20_004);
  });
});
