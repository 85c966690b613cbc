import { expect } from "chai";
import type { GameSession } from "#contracts/crd/gameSession.ts";
import { finalizers } from "#contracts/crd/names.ts";
import { publicStatusOf, isFinished } from "#contracts/crd/sessionState.ts";
import { isNotFound } from "#kube/api/errors.ts";
import type { Operator } from "#operator/operator.ts";
import { aCacheEntry } from "#test/factories/gameNode.ts";
import { eventually } from "#test/support/clocks/eventually.ts";
import { FaultyApi } from "#test/support/cluster/faultyApi.ts";
import { sharedKubeApiServer } from "#test/support/cluster/kubeApiServer.ts";
import { watchOf } from "#test/support/cluster/seenRequests.ts";
import { beforeEachWithFaultyApi } from "#test/support/fixtures/faultyOperatorFixture.ts";
import { OperatorFixture } from "#test/support/fixtures/operatorFixture.ts";

const isRunning = (session: GameSession): boolean => publicStatusOf(session) === "running";

/** More than any of the stories needs, so that the last rounds show a life without a crash. */
const mostWrites = 12;

/** How a session's story goes on once it runs. */
const stories: Record<string, (fixture: OperatorFixture, name: string) => Promise<unknown>> = {
  "is stopped": (fixture, name) =>
    fixture.sessions.mergePatch(
      { name, namespace: fixture.namespace },
      { spec: { desiredState: "Stopped", stopReason: "UserRequested" } },
    ),
  "ends with its game": (fixture, name) => fixture.components.endGame(name, fixture.namespace, 0),
  "is deleted": (fixture, name) => fixture.sessions.delete({ name, namespace: fixture.namespace }),
};

describe("An operator that dies", function () {
  this.timeout(120_000);

  for (const [what, goOn] of Object.entries(stories)) {
    it(`after any write has a successor that takes a session that ${what} to the same end`, async () => {
      const fixture = await OperatorFixture.start();
      // Then the pod is made ahead of the save, as in most launches.
      fixture.components.behaviour.cached.push(aCacheEntry());
      try {
        const results: { end: unknown; deaths: number }[] = [];
        for (let writes = 1; writes <= mostWrites; writes++) {
          results.push(await live(fixture, writes, (name) => goOn(fixture, name)));
          if (results.at(-1)?.deaths === 0) break;
        }
        expect(results.at(-1)?.deaths, "the last round is without a crash").to.equal(0);
        expect(results.length, "rounds with a crash").to.be.greaterThan(4);
        const undisturbed = results.at(-1)?.end;
        results.forEach(({ end }, index) =>
          expect(end, `death after write ${index + 1}`).to.deep.equal(undisturbed),
        );
      } finally {
        await fixture.clear();
      }
    });
  }
});

describe("An operator whose view of the sessions is older than that of the pods", function () {
  this.timeout(60_000);

  it("does not mistake the pod of a moved session for one of its previous placement", async () => {
    const fixture = await OperatorFixture.start({ nodes: 2 });
    const api = await FaultyApi.start(await sharedKubeApiServer());
    try {
      const [first = "", second = ""] = fixture.nodeNames;
      const former = await fixture.startOperator();
      fixture.components.behaviour.nodesWithoutContent.add(first);
      const {
        metadata: { name, namespace },
      } = await fixture.launch({ startDeadlineSeconds: 600 });
      await fixture.session(name, ({ status }) => status?.nodeName === first, "session on the first node");

      api.silenceOnce(watchOf("gamesessions"));
      const stale = await fixture.standByOperator(api.transport());
      await fixture.pass(61_000);
      await fixture.session(
        name,
        (session) => session.status?.nodeName === second && publicStatusOf(session) === "running",
        "session on the second node",
      );
      await fixture.stopOperator(former.operator);
      await stale.lead();
      await eventually(
        () =>
          api.requests.some(({ method, path }) => method !== "GET" || path.endsWith(`/gamesessions/${name}`)),
        { what: "a fresh look, or a write" },
      );
      await fixture.stopOperator(stale);
      const pod = await fixture.pods.get({ name, namespace });
      expect(pod.metadata).to.not.have.property("deletionTimestamp");
      expect(pod.metadata.finalizers).to.deep.equal([finalizers.usage]);
      expect(fixture.components.podUids.get(name)?.size, "pods").to.equal(1);
    } finally {
      await fixture.clear();
      await api.stop();
    }
  });
});

describe("An operator whose view of the pods is older than that of the sessions", function () {
  this.timeout(60_000);
  let fixture: OperatorFixture;
  let api: FaultyApi;

  beforeEachWithFaultyApi((freshFixture, freshApi) => {
    fixture = freshFixture;
    api = freshApi;
  });

  /** An operator that leads from now on, and whose watch shows no pod. */
  async function leadBlindly(
    former: Operator | undefined,
    meanwhile: () => Promise<unknown>,
  ): Promise<Operator> {
    api.silenceOnce(({ path, isWatch }) => isWatch && path.endsWith(`/namespaces/${fixture.namespace}/pods`));
    const blind = await fixture.standByOperator(api.transport());
    await meanwhile();
    if (former) await fixture.stopOperator(former);
    await blind.lead();
    return blind;
  }

  const asksFor = (name: string) =>
    api.requests.some(({ method, path }) => method === "GET" && path.endsWith(`/pods/${name}`));

  it("reads the pod of a running session before it declares the game lost", async () => {
    const { operator } = await fixture.startOperator();
    let name = "";
    await leadBlindly(operator, async () => {
      ({
        metadata: { name },
      } = await fixture.launch());
      await fixture.session(name, isRunning, "running session");
    });
    await eventually(() => asksFor(name), { what: "a fresh look" });
    // Another launch shows that the operator is past the first session.
    const later = await fixture.launch({ userId: "user2" });
    await eventually(
      async () => (await fixture.sessions.get(later.metadata)).status?.nodeName !== undefined,
      { what: "a session that was placed later" },
    );
    expect(isRunning(await fixture.sessions.get({ name, namespace: fixture.namespace }))).to.equal(true);
    expect(fixture.components.podUids.get(name)?.size, "pods").to.equal(1);
  });

  it("reads no pod of a starting session, because creating one shows whether it exists", async () => {
    fixture.components.behaviour.cached.push(aCacheEntry());
    const { operator } = await fixture.startOperator();
    await fixture.stopOperator(operator);
    await leadBlindly(undefined, () => Promise.resolve());
    const {
      metadata: { name, namespace },
    } = await fixture.launch();
    await eventually(() => fixture.pods.find({ name, namespace }), { what: "the pod" });
    expect(asksFor(name)).to.equal(false);
  });
});

/**
 * One session's whole life, with the first operator dying after so many writes; returns what counts of its
 * end.
 */
async function live(
  fixture: OperatorFixture,
  diesAfterWrites: number,
  goOn: (name: string) => Promise<unknown>,
): Promise<{ end: unknown; deaths: number }> {
  let deaths = 0;
  const first = await fixture.startOperator({ diesAfterWrites });
  let current = first.operator;
  const nurse = setInterval(() => {
    if (!first.transport.isDead || deaths > 0) return;
    deaths++;
    replacing = fixture
      .stopOperator(first.operator)
      .then(() => fixture.startOperator())
      .then(({ operator }) => void (current = operator));
  }, 5);
  let replacing: Promise<void> = Promise.resolve();
  try {
    const {
      metadata: { name, namespace },
    } = await fixture.launch({ ttlSecondsAfterFinished: 60 });
    await fixture.session(name, (session) => publicStatusOf(session) === "running", "running session");
    fixture.components.behaviour.isRecorderUnavailable = true;
    await goOn(name);
    const finished = await fixture.session(name, isFinished, "finished session");
    fixture.components.behaviour.isRecorderUnavailable = false;
    // The recorder looks again; what it looked at by itself in time is gone already.
    await fixture.sessions
      .mergePatch({ name, namespace }, { metadata: { annotations: { seen: "true" } } })
      .catch((error: unknown) => {
        if (!isNotFound(error)) throw error;
      });
    await eventually(
      async () => {
        // A successor waits for the time to live anew.
        await fixture.pass(61_000);
        return (await fixture.sessions.find({ name, namespace })) === undefined;
      },
      { what: `${name} to be gone`, timeoutMs: 15_000, intervalMs: 50 },
    );
    await eventually(async () => (await fixture.pods.find({ name, namespace })) === undefined, {
      what: "the pod to be gone",
    });
    return { end: summaryOf(finished, fixture.components.podUids.get(name)?.size), deaths };
  } finally {
    clearInterval(nurse);
    await replacing;
    await fixture.stopOperator(current);
  }
}

function summaryOf({ status }: GameSession, pods: number | undefined): unknown {
  const { stopReason, failure, usage, save } = status ?? {};
  return { stopReason, failure, cpuSeconds: usage?.cpuSeconds, isSaved: save?.final, pods };
}
