import { expect } from "chai";
import { publicStatusOf, isFinished } from "#contracts/crd/sessionState.ts";
import type { GameSession } from "#contracts/crd/gameSession.ts";
import type { Stored } from "#kube/api/object.ts";
import { aCacheEntry } from "#test/factories/gameNode.ts";
import { eventually } from "#test/support/clocks/eventually.ts";
import { FaultyApi } from "#test/support/cluster/faultyApi.ts";
import { sharedKubeApiServer } from "#test/support/cluster/kubeApiServer.ts";
import { watchOf } from "#test/support/cluster/seenRequests.ts";
import { OperatorFixture } from "#test/support/fixtures/operatorFixture.ts";

const isRunning = (session: GameSession): boolean => publicStatusOf(session) === "running";

describe("GameSession controller with a silent kubelet, node agent or object store", function () {
  this.timeout(90_000);
  let fixture: OperatorFixture;

  async function set(options: Parameters<typeof OperatorFixture.start>[0] = {}): Promise<void> {
    fixture = await OperatorFixture.start(options);
  }

  afterEach(() => fixture.clear());

  /**
   * Returns the session once deadlines have ended it: within a minute, plus one in which the operator may not
   * have seen the stop yet.
   */
  async function endedByTime(name: string): Promise<Stored<GameSession>> {
    let seconds = 0;
    return eventually(
      async () => {
        const session = await fixture.sessions.get({ name, namespace: fixture.namespace });
        if (isFinished(session)) return session;
        if (seconds < 120) await fixture.pass(10_000);
        seconds += 10;
        return undefined;
      },
      { what: "the session to be finished", intervalMs: 200 },
    );
  }

  /** Returns the session once it shows, within ten seconds of a waiting stop, that it is being stopped. */
  async function shownAsStopping(name: string): Promise<Stored<GameSession>> {
    let seconds = 0;
    return eventually(
      async () => {
        const session = await fixture.sessions.get({ name, namespace: fixture.namespace });
        if (session.status?.phase === "Stopping") return session;
        if (seconds < 10) await fixture.pass(1_000);
        seconds++;
        return undefined;
      },
      { what: "the session to be shown as stopping", intervalMs: 100 },
    );
  }

  it("finishes a session whose node is lost, and leaves its pod to the returning kubelet", async () => {
    await set({ environment: { HEARTBEAT_STALE_SECONDS: "35" } });
    const [node = ""] = fixture.nodeNames;
    await fixture.startOperator();
    const {
      metadata: { name, namespace },
    } = await fixture.launch();
    await fixture.session(name, isRunning, "running session");
    fixture.components.behaviour.silentNodes.add(node);
    await fixture.setNodeReady(node, false);
    await eventually(
      async () => (await fixture.gameNodes.get({ name: node })).status?.capacity?.schedulable === false,
      { what: "an unschedulable node" },
    );
    expect(
      publicStatusOf(await fixture.sessions.get({ name, namespace })),
      "one health signal is not enough",
    ).to.equal("running");
    await fixture.pass(36_000);
    const finished = await fixture.session(name, isFinished, "finished session");
    expect(finished.status?.failure?.reason).to.equal("NodeLost");
    expect(finished.status).to.not.have.property("usage");
    const pod = await eventually(
      async () => {
        const found = await fixture.pods.get({ name, namespace });
        return found.metadata.deletionTimestamp !== undefined && found.metadata.finalizers === undefined
          ? found
          : undefined;
      },
      { what: "the pod to be released" },
    );
    expect(pod.metadata.deletionGracePeriodSeconds, "not deleted by force").to.equal(120);
    fixture.components.behaviour.silentNodes.delete(node);
    await fixture.pods.mergePatch({ name, namespace }, { metadata: { annotations: { seen: "true" } } });
    await eventually(async () => (await fixture.pods.find({ name, namespace })) === undefined, {
      what: "the pod to be gone",
    });
  });

  it("frees the player within a minute of a stop if the kubelet is silent, and keeps slot and port until the pod has ended", async () => {
    await set();
    const [node = ""] = fixture.nodeNames;
    await fixture.startOperator();
    const {
      metadata: { name, namespace },
    } = await fixture.launch();
    await fixture.session(name, isRunning, "running session");
    fixture.components.behaviour.isRecorderUnavailable = true;
    fixture.components.behaviour.nodesWithoutKubelet.add(node);
    await fixture.setNodeReady(node, false);
    await fixture.sessions.mergePatch(
      { name, namespace },
      { spec: { desiredState: "Stopped", stopReason: "UserRequested" } },
    );
    await eventually(
      async () => (await fixture.pods.get({ name, namespace })).metadata.deletionTimestamp !== undefined,
      { what: "the pod to be deleted" },
    );
    const stopping = await shownAsStopping(name);
    expect(stopping.status).to.deep.include({ stopReason: "UserRequested" });
    expect(stopping.status?.conditions?.find(({ type }) => type === "Ready")).to.include({
      status: "False",
      reason: "Stopping",
    });
    const finished = await endedByTime(name);
    expect(finished.status).to.deep.include({
      stopReason: "UserRequested",
      stoppingAt: stopping.status?.stoppingAt,
    });
    expect(finished.status?.failure?.reason).to.equal("SaveNotStored");
    expect(finished.status?.conditions?.find(({ type }) => type === "SavePersisted")?.status).to.not.equal(
      "True",
    );
    const released = await eventually(
      async () => {
        const pod = await fixture.pods.get({ name, namespace });
        return pod.metadata.finalizers === undefined ? pod : undefined;
      },
      { what: "the pod to be released" },
    );
    expect(released.metadata.deletionGracePeriodSeconds, "not deleted by force").to.equal(120);

    await fixture.setNodeReady(node, true);
    const [second, third] = [
      await fixture.launch({ userId: "user2" }),
      await fixture.launch({ userId: "user3" }),
    ];
    const others = await eventually(
      async () => {
        const both = await Promise.all([second, third].map(({ metadata }) => fixture.sessions.get(metadata)));
        const placed = both.find(({ status }) => status?.nodeName === node);
        const waiting = both.find(({ status }) =>
          status?.conditions?.some(({ reason }) => reason === "NoCapacity"),
        );
        return placed && waiting && { placed, waiting };
      },
      { what: "one placed and one waiting session" },
    );
    expect(others.placed.status?.ports?.media).to.not.equal(finished.status?.ports?.media);

    fixture.components.behaviour.nodesWithoutKubelet.delete(node);
    await fixture.pods.mergePatch({ name, namespace }, { metadata: { annotations: { seen: "true" } } });
    await eventually(async () => (await fixture.pods.find({ name, namespace })) === undefined, {
      what: "the pod to be gone",
    });
    await fixture.session(
      others.waiting.metadata.name,
      ({ status }) => status?.nodeName === node,
      "session in the freed slot",
    );
    const stored = await fixture.session(name, ({ status }) => status?.save?.final === true, "stored save");
    expect(stored.status?.conditions?.find(({ type }) => type === "SavePersisted")?.status).to.equal("True");
  });

  it("keeps sessions while most game nodes are silent, and ends those on silent nodes once most have returned", async () => {
    await set({ nodes: 4, environment: { HEARTBEAT_STALE_SECONDS: "35" } });
    const [node = "", ...others] = fixture.nodeNames;
    const { registry } = await fixture.startOperator();
    const {
      metadata: { name },
    } = await fixture.launch();
    await fixture.session(
      name,
      (session) => isRunning(session) && session.status?.nodeName === node,
      "running session",
    );
    /** Lets the operator complete its pending work, which is done when a session launched now is running. */
    const letWork = async (userId: string): Promise<void> => {
      const later = await fixture.launch({ userId });
      await fixture.session(later.metadata.name, isRunning, "session that is launched later");
    };
    const lost = (
      isRight: (status: string | undefined, reason: string | undefined) => boolean,
      what: string,
    ): Promise<unknown> =>
      eventually(
        async () => {
          const { status, reason } =
            (await fixture.gameNodes.get({ name: node })).status?.conditions?.find(
              ({ type }) => type === "Lost",
            ) ?? {};
          return isRight(status, reason);
        },
        { what },
      );
    for (const silent of [node, ...others.slice(0, 2)]) {
      fixture.components.behaviour.silentNodes.add(silent);
      await fixture.setNodeReady(silent, false);
    }
    await fixture.pass(36_000);
    await fixture.components.report(others[2] ?? "");
    await lost((status, reason) => status === "Unknown" && reason === "BrakeHolds", "the brake to hold");
    expect(await registry.metrics()).to.match(/^joypod_operator_node_loss_brake 1$/m);
    await fixture.pass(6_000);
    await letWork("user2");
    expect(publicStatusOf(await fixture.sessions.get({ name, namespace: fixture.namespace }))).to.equal(
      "running",
    );

    for (const heard of others) {
      fixture.components.behaviour.silentNodes.delete(heard);
      await fixture.setNodeReady(heard, true);
      await fixture.components.report(heard);
    }
    await eventually(
      async () => {
        const all = await Promise.all(others.map((other) => fixture.gameNodes.get({ name: other })));
        return all.every(({ status }) => status?.capacity?.schedulable === true);
      },
      { what: "the others to be heard" },
    );
    // They were cut off together, so this one may return as well.
    await fixture.pass(6_000);
    await letWork("user3");
    expect(publicStatusOf(await fixture.sessions.get({ name, namespace: fixture.namespace }))).to.equal(
      "running",
    );
    for (let count = 0; count < 3; count++) {
      for (const heard of others) await fixture.components.report(heard);
      await fixture.pass(10_000);
    }
    const finished = await fixture.session(name, isFinished, "finished session");
    expect(finished.status?.failure?.reason).to.equal("NodeLost");
    await lost((status) => status === "True", "the node to be declared lost");
    expect(await registry.metrics()).to.match(/^joypod_operator_node_loss_brake 0$/m);
  });

  it("loses no session, whether starting, running or stopping, while all three game nodes are cut off, and keeps the pods", async () => {
    await set({ nodes: 3, environment: { HEARTBEAT_STALE_SECONDS: "35" } });
    const {
      nodeNames,
      namespace,
      components: { behaviour, podUids },
    } = fixture;
    const everyNode = (
      isRight: (lost: string | undefined, isSchedulable: boolean) => boolean,
      what: string,
    ): Promise<unknown> =>
      eventually(
        async () => {
          const nodes = await Promise.all(nodeNames.map((name) => fixture.gameNodes.get({ name })));
          return nodes.every(({ status }) =>
            isRight(
              status?.conditions?.find(({ type }) => type === "Lost")?.reason,
              status?.capacity?.schedulable === true,
            ),
          );
        },
        { what },
      );
    const podOf = (name: string) => fixture.pods.find({ name, namespace });
    const launch = (count: number, group: string, startDeadlineSeconds = 120): Promise<string[]> =>
      Promise.all(
        Array.from(
          { length: count },
          async (_, index) =>
            (await fixture.launch({ userId: `${group}${index}`, startDeadlineSeconds })).metadata.name,
        ),
      );
    await fixture.startOperator();
    // Two of each kind, so that no node is without a session.
    const [played, stopped] = [await launch(2, "plays"), await launch(2, "stops")];
    for (const name of [...played, ...stopped]) await fixture.session(name, isRunning, "running session");
    for (const node of nodeNames) behaviour.nodesWithoutKubelet.add(node);
    // Longer than the clock is advanced before they may start.
    const started = await launch(2, "starts", 600);
    for (const name of started)
      await eventually(async () => (await podOf(name)) !== undefined, { what: `the pod of ${name}` });
    for (const name of stopped) {
      await fixture.sessions.mergePatch(
        { name, namespace },
        { spec: { desiredState: "Stopped", stopReason: "UserRequested" } },
      );
      await eventually(async () => (await podOf(name))?.metadata.deletionTimestamp !== undefined, {
        what: `the pod of ${name} to be told to end`,
      });
    }
    const all = [...started, ...played, ...stopped];
    const objects = (names: readonly string[]) =>
      Promise.all(names.map((name) => fixture.sessions.get({ name, namespace })));
    expect(
      new Set((await objects(all)).map(({ status }) => status?.nodeName)),
      "nodes that have sessions",
    ).to.have.all.keys(nodeNames);

    behaviour.isRecorderUnavailable = true;
    for (const node of nodeNames) {
      behaviour.silentNodes.add(node);
      await fixture.setNodeReady(node, false);
    }
    await fixture.pass(36_000);
    await everyNode(
      (lost, isSchedulable) => lost === "BrakeHolds" && !isSchedulable,
      "the brake to hold for all nodes",
    );
    // A stopping session's player is free within a minute because of the missing last save, not because of
    // the node.
    for (const name of stopped)
      expect((await endedByTime(name)).status?.failure?.reason).to.equal("SaveNotStored");
    await everyNode((lost) => lost === "BrakeHolds", "the brake to hold on");
    for (const {
      metadata: { name },
      status,
    } of await objects([...started, ...played]))
      expect(status?.failure, `why ${name} ended`).to.equal(undefined);

    for (const node of nodeNames) {
      for (const silent of [behaviour.silentNodes, behaviour.nodesWithoutKubelet]) silent.delete(node);
      await fixture.setNodeReady(node, true);
      await fixture.components.report(node);
    }
    await everyNode((lost, isSchedulable) => lost === "Heard" && isSchedulable, "all nodes to be heard");
    // Kubelets and agents resume with the existing pods.
    for (const name of all)
      await fixture.pods.mergePatch({ name, namespace }, { metadata: { annotations: { seen: "true" } } });
    for (const name of [...started, ...played]) await fixture.session(name, isRunning, "running session");
    for (const name of stopped) {
      await fixture.session(name, ({ status }) => status?.save?.final === true, "stored save");
      await eventually(async () => (await podOf(name)) === undefined, {
        what: `the pod of ${name} to be gone`,
      });
    }
    for (const name of all) expect(podUids.get(name), `pods of ${name}`).to.have.property("size", 1);
  });

  it("keeps a session whose kubelet is silent when it takes over without having heard any agent", async () => {
    await set({ nodes: 2, environment: { HEARTBEAT_STALE_SECONDS: "35" } });
    const api = await FaultyApi.start(await sharedKubeApiServer());
    try {
      const { operator: former } = await fixture.startOperator();
      const {
        metadata: { name, namespace },
      } = await fixture.launch();
      const { status: { nodeName: node = "" } = {} } = await fixture.session(
        name,
        isRunning,
        "running session",
      );
      for (const kind of ["leases", "gamenodes"]) api.silenceOnce(watchOf(kind));
      const standby = await fixture.standByOperator(api.transport());
      for (let count = 0; count < 2; count++) {
        await fixture.pass(18_000);
        for (const each of fixture.nodeNames) await fixture.components.report(each);
      }
      await fixture.setNodeReady(node, false);
      await fixture.stopOperator(former);
      await standby.lead();
      await fixture.pass(6_000);
      const { metadata: later } = await fixture.launch({ userId: "user2" });
      await fixture.session(
        later.name,
        ({ status }) => status?.nodeName !== undefined,
        "session that the new leader has placed",
      );
      expect(isRunning(await fixture.sessions.get({ name, namespace }))).to.equal(true);
    } finally {
      await fixture.stopOperators();
      await api.stop();
    }
  });

  it("does not change a session whose kubelet is silent while its node agent reports", async () => {
    await set({ environment: { HEARTBEAT_STALE_SECONDS: "35" } });
    const [node = ""] = fixture.nodeNames;
    await fixture.startOperator();
    const {
      metadata: { name, namespace },
    } = await fixture.launch();
    await fixture.session(name, isRunning, "running session");
    await fixture.createCache("the-question");
    await fixture.setNodeReady(node, false);
    // The cluster's node controller does this with all pods of such a node.
    await fixture.pods.mergePatchStatus(
      { name, namespace },
      {
        status: {
          conditions: [
            {
              type: "Ready",
              status: "False",
              lastTransitionTime: new Date(Date.now() + 60_000).toISOString(),
            },
            { type: "ContainersReady", status: "True" },
          ],
        },
      },
    );
    for (const progressPercent of [10, 20, 30]) {
      await fixture.pass(20_000);
      await fixture.components.report(node, {
        entries: [aCacheEntry({ state: "Downloading", progressPercent })],
      });
      // Progress and heartbeat are in one report, so visible progress means a received heartbeat.
      await eventually(
        async () => {
          const cache = await fixture.caches.get({ name: "the-question", namespace });
          return cache.status?.nodes?.[0]?.progressPercent === progressPercent;
        },
        { what: `${progressPercent} % in the cache's status` },
      );
    }
    await fixture.setNodeReady(node, true);
    await eventually(
      async () => (await fixture.gameNodes.get({ name: node })).status?.capacity?.schedulable === true,
      { what: "a schedulable node" },
    );
    expect(publicStatusOf(await fixture.sessions.get({ name, namespace }))).to.equal("running");
  });

  it("measures the wait for the last save by its own clock when the API server's is ten minutes behind", async () => {
    await set();
    await fixture.pass(600_000);
    await fixture.startOperator();
    const {
      metadata: { name, namespace },
    } = await fixture.launch();
    await fixture.session(name, isRunning, "running session");
    fixture.components.behaviour.isRecorderUnavailable = true;
    fixture.components.behaviour.isStoreUnavailable = true;
    await fixture.sessions.mergePatch(
      { name, namespace },
      { spec: { desiredState: "Stopped", stopReason: "UserRequested" } },
    );
    await fixture.session(
      name,
      ({ status }) => status?.conditions?.some(({ reason }) => reason === "StoreUnreachable") ?? false,
      "unstored save",
    );
    fixture.components.behaviour.isStoreUnavailable = false;
    await fixture.sessions.mergePatch({ name, namespace }, { metadata: { annotations: { seen: "true" } } });
    const finished = await fixture.session(name, isFinished, "finished session");
    expect(finished.status).to.not.have.property("failure");
    expect(finished.status?.save?.final).to.equal(true);
  });

  const obstacles: [string, (node: string) => void, string][] = [
    [
      "the object store is unavailable",
      () => void (fixture.components.behaviour.isStoreUnavailable = true),
      "StoreUnreachable",
    ],
    [
      "the node agent is silent",
      (node) => void fixture.components.behaviour.nodesWithoutAgent.add(node),
      "NodeAgentSilent",
    ],
  ];
  for (const [what, befall, reason] of obstacles) {
    it(`finishes without the last save within a minute while ${what}, with failure SaveNotStored`, async () => {
      await set();
      await fixture.startOperator();
      const {
        metadata: { name, namespace },
      } = await fixture.launch();
      await fixture.session(name, isRunning, "running session");
      fixture.components.behaviour.isRecorderUnavailable = true;
      befall(fixture.nodeNames[0] ?? "");
      await fixture.sessions.mergePatch(
        { name, namespace },
        { spec: { desiredState: "Stopped", stopReason: "UserRequested" } },
      );
      const waiting = await fixture.session(
        name,
        ({ status }) =>
          status?.conditions?.some(
            (condition) => condition.type === "SavePersisted" && condition.reason === reason,
          ) ?? false,
        "unstored save",
      );
      expect(isFinished(waiting)).to.equal(false);
      await fixture.pass(35_000);
      await fixture.components.report(fixture.nodeNames[0] ?? "");
      expect(isFinished(await fixture.sessions.get({ name, namespace }))).to.equal(false);
      const finished = await endedByTime(name);
      expect(finished.status?.failure?.reason).to.equal("SaveNotStored");
      expect(finished.status?.conditions?.find(({ type }) => type === "SavePersisted")?.status).to.not.equal(
        "True",
      );
      expect(publicStatusOf(finished)).to.equal("stopped");
      // Events are written after the status, so they may arrive a moment later.
      await eventually(async () => (await fixture.eventsOf(name)).includes("SaveNotStored"), {
        what: "the event SaveNotStored",
      });
    });
  }
});
