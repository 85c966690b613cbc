import { randomBytes } from "node:crypto";
import { expect } from "chai";
import { publicStatusOf, isFinished } from "#contracts/crd/sessionState.ts";
import type { GameSession } from "#contracts/crd/gameSession.ts";
import type { Stored } from "#kube/api/object.ts";
import { eventually } from "#test/support/clocks/eventually.ts";
import { FaultyApi, type SeenRequest } from "#test/support/cluster/faultyApi.ts";
import { sharedKubeApiServer, type KubeApiServer } from "#test/support/cluster/kubeApiServer.ts";
import { beforeEachWithFaultyApi } from "#test/support/fixtures/faultyOperatorFixture.ts";
import { OperatorFixture } from "#test/support/fixtures/operatorFixture.ts";

const isCreation = ({ method, path }: SeenRequest): boolean => method === "POST" && path.endsWith("/pods");
const isDeletion = ({ method, path }: SeenRequest): boolean =>
  method === "DELETE" && /\/pods\/gs-[^/]+$/.test(path);
const isRunning = (session: GameSession): boolean => publicStatusOf(session) === "running";
const podReadyOf = ({ status }: GameSession) => status?.conditions?.find(({ type }) => type === "PodReady");

/** Returns the session once its condition reports that the API server does not create its pod. */
function sessionWithoutPod(fixture: OperatorFixture, name: string): Promise<Stored<GameSession>> {
  return fixture.session(
    name,
    (session) => podReadyOf(session)?.reason === "FailedCreate",
    "session whose pod is not made",
  );
}

async function expectEndAtStartDeadline(fixture: OperatorFixture, words: string): Promise<void> {
  const {
    metadata: { name },
  } = await fixture.launch({ startDeadlineSeconds: 120 });
  await sessionWithoutPod(fixture, name);
  await fixture.pass(121_000);
  const { status } = await fixture.session(name, isFinished, "finished session");
  expect(status?.failure?.reason).to.equal("StartTimedOut");
  expect(status?.failure?.message).to.contain(words);
}

describe("A session whose pod is refused because its RuntimeClass is missing", function () {
  this.timeout(60_000);
  let server: KubeApiServer;
  let fixture: OperatorFixture;
  let api: FaultyApi;
  let runtimeClass: string;

  beforeEach(async () => {
    server = await sharedKubeApiServer();
    runtimeClass = `missing-${randomBytes(4).toString("hex")}`;
    fixture = await OperatorFixture.start({ environment: { SESSION_RUNTIME_CLASS: runtimeClass } });
    api = await FaultyApi.start(server);
    await fixture.startOperator({ kubeconfig: api.kubeconfig() });
  });

  afterEach(async () => {
    await fixture.clear();
    await api.stop();
  });

  it("reports the API server's error in condition PodReady and one event, regardless of retries", async () => {
    const {
      metadata: { name },
    } = await fixture.launch();
    const told = await sessionWithoutPod(fixture, name);
    expect(podReadyOf(told)).to.include({ status: "False" });
    expect(podReadyOf(told)?.message)
      .to.contain("rejected the session's pod")
      .and.contain(`RuntimeClass "${runtimeClass}" not found`);
    const tries = api.requests.filter(isCreation).length;
    await eventually(() => api.requests.filter(isCreation).length >= tries + 3, { what: "three more tries" });
    expect(
      (await fixture.sessions.get(told.metadata)).metadata.resourceVersion,
      "version of the session",
    ).to.equal(told.metadata.resourceVersion);
    await eventually(async () => (await fixture.eventsOf(name)).includes("FailedCreate"), {
      what: "the event",
    });
  });

  it("gets its pod as soon as the API server accepts it, and the condition is updated", async () => {
    fixture.components.behaviour.nodesWithoutKubelet.add(fixture.nodeNames[0] ?? "");
    const {
      metadata: { name, namespace },
    } = await fixture.launch();
    await sessionWithoutPod(fixture, name);
    const path = "/apis/node.k8s.io/v1/runtimeclasses";
    await server.admin.request({
      method: "POST",
      path,
      body: {
        apiVersion: "node.k8s.io/v1",
        kind: "RuntimeClass",
        metadata: { name: runtimeClass },
        handler: "runc",
      },
    });
    try {
      await fixture.session(
        name,
        (session) => podReadyOf(session)?.status === "Unknown",
        "session whose pod is made",
      );
      fixture.components.behaviour.nodesWithoutKubelet.clear();
      await fixture.pods.mergePatch({ name, namespace }, { metadata: { annotations: { seen: "true" } } });
      await fixture.session(name, isRunning, "running session");
    } finally {
      await server.admin.request({ method: "DELETE", path: `${path}/${runtimeClass}` });
    }
  });

  it("ends at its start deadline with the API server's error", async () => {
    await expectEndAtStartDeadline(fixture, `RuntimeClass "${runtimeClass}" not found`);
  });
});

describe("A session whose pod cannot be created because an admission webhook does not respond", function () {
  this.timeout(60_000);
  const words = 'Internal error occurred: failed calling webhook "policy.example": connection refused';
  let fixture: OperatorFixture;
  let api: FaultyApi;
  let mend: () => void;

  beforeEachWithFaultyApi((freshFixture, freshApi) => {
    fixture = freshFixture;
    api = freshApi;
  });

  beforeEach(async () => {
    mend = api.respond(isCreation, 500, { reason: "InternalError", message: words });
    await fixture.startOperator({ kubeconfig: api.kubeconfig() });
  });

  it("reports the API server's error in condition PodReady and an event, and gets its pod once the webhook responds", async () => {
    const {
      metadata: { name },
    } = await fixture.launch();
    expect(podReadyOf(await sessionWithoutPod(fixture, name))?.message).to.equal(
      `The API server could not create the session's pod: ${words}`,
    );
    await eventually(async () => (await fixture.eventsOf(name)).includes("FailedCreate"), {
      what: "the event",
    });
    mend();
    const running = await fixture.session(name, isRunning, "running session");
    expect(podReadyOf(running)).to.include({ status: "True", reason: "ContainersReady" });
  });

  it("ends at its start deadline with the API server's error", async () => {
    await expectEndAtStartDeadline(fixture, words);
  });
});

describe("A session whose pod the API server refuses to delete", function () {
  this.timeout(60_000);
  let fixture: OperatorFixture;
  let api: FaultyApi;

  beforeEachWithFaultyApi((freshFixture, freshApi) => {
    fixture = freshFixture;
    api = freshApi;
  });

  /** Returns a running session whose object stays after its end. */
  async function aRunningSession(): Promise<{ name: string; namespace: string }> {
    await fixture.startOperator({ kubeconfig: api.kubeconfig() });
    fixture.components.behaviour.isRecorderUnavailable = true;
    const {
      metadata: { name },
    } = await fixture.launch();
    await fixture.session(name, isRunning, "running session");
    return { name, namespace: fixture.namespace };
  }

  const podIsGone = (ref: { name: string; namespace: string }): Promise<unknown> =>
    eventually(async () => (await fixture.pods.find(ref)) === undefined, {
      what: "the pod to be gone",
      timeoutMs: 20_000,
    });

  for (const [what, status, body] of [
    ["by a policy", 403, { reason: "Forbidden", message: 'admission policy "keep" denied the request' }],
    [
      "as its webhook is not there",
      500,
      { reason: "InternalError", message: 'failed calling webhook "keep": connection refused' },
    ],
  ] as const) {
    it(`finishes once its game has ended and its save is stored, and deletes the pod later: refused ${what}`, async () => {
      const allow = api.respond(isDeletion, status, body);
      const ref = await aRunningSession();
      await fixture.components.endGame(ref.name, ref.namespace, 0);
      const finished = await fixture.session(ref.name, isFinished, "finished session", 30_000);
      expect(finished.status).to.include({ stopReason: "GameExited" }).and.not.to.have.property("failure");
      expect(finished.status?.save?.final, "the save is stored").to.equal(true);
      const tries = api.requests.filter(isDeletion).length;
      expect(tries).to.be.above(0);
      await eventually(() => api.requests.filter(isDeletion).length > tries, {
        what: "one more try",
        timeoutMs: 20_000,
      });
      expect((await fixture.pods.get(ref)).metadata.deletionTimestamp).to.equal(undefined);
      allow();
      await podIsGone(ref);
    });
  }

  it("frees the player 45 seconds after the stop, keeps its slot, and stores its save when the pod is gone", async () => {
    const allow = api.respond(isDeletion, 403, { reason: "Forbidden" });
    const ref = await aRunningSession();
    await fixture.sessions.mergePatch(ref, {
      spec: { desiredState: "Stopped", stopReason: "UserRequested" },
    });
    await eventually(() => api.requests.some(isDeletion), { what: "the deletion to be asked for" });
    await fixture.pass(6_000);
    const stopping = await fixture.session(
      ref.name,
      ({ status }) => status?.stoppingAt !== undefined,
      "session that says that it stops",
    );
    expect(isFinished(stopping)).to.equal(false);
    await fixture.pass(45_000);
    const finished = await fixture.session(ref.name, isFinished, "finished session");
    expect(finished.status).to.include({
      stopReason: "UserRequested",
      stoppingAt: stopping.status?.stoppingAt,
    });
    expect(finished.status?.failure?.reason).to.equal("SaveNotStored");
    expect((await fixture.pods.get(ref)).metadata.deletionTimestamp).to.equal(undefined);

    // The node has two slots.
    const others = await Promise.all(["user2", "user3"].map((userId) => fixture.launch({ userId })));
    const waiting = await eventually(
      async () => {
        const both = await Promise.all(others.map(({ metadata }) => fixture.sessions.get(metadata)));
        return both.some(isRunning)
          ? both.find(({ status }) => status?.conditions?.some(({ reason }) => reason === "NoCapacity"))
          : undefined;
      },
      { what: "one running and one waiting session", timeoutMs: 20_000 },
    );
    allow();
    await podIsGone(ref);
    await fixture.session(waiting.metadata.name, isRunning, "running session in the freed slot");
    await fixture.session(ref.name, ({ status }) => status?.save?.final === true, "stored save");
  });
});
