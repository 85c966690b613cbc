import { expect } from "chai";
import type { GameNode } from "#contracts/crd/gameNode.ts";
import { heartbeatLabelsOf } from "#contracts/crd/installation.ts";
import type { Stored } from "#kube/api/object.ts";
import { eventually } from "#test/support/clocks/eventually.ts";
import type { Timer } from "#runtime/scheduling/clock.ts";
import { FaultyApi } from "#test/support/cluster/faultyApi.ts";
import { sharedKubeApiServer } from "#test/support/cluster/kubeApiServer.ts";
import { JumpClock } from "#test/support/clocks/jumpClock.ts";
import { watchOf } from "#test/support/cluster/seenRequests.ts";
import { OperatorFixture } from "#test/support/fixtures/operatorFixture.ts";

/** A little longer than an agent may be silent. */
const staleMs = 36_000;

/**
 * A clock whose timers fire early, as Node's do by up to a millisecond, and that advances with each reading,
 * as on a busy machine.
 */
class HastyClock extends JumpClock {
  earlyMs = 0;
  #lookedMs = 0;

  override monotonicMs(): number {
    return super.monotonicMs() + (this.#lookedMs += 0.5);
  }

  override setTimer(ms: number, callback: () => void): Timer {
    return super.setTimer(Math.max(0, ms - this.earlyMs), callback);
  }
}

describe("Heartbeats of node agents", function () {
  this.timeout(60_000);
  let fixture: OperatorFixture;
  let name: string;

  beforeEach(async () => {
    fixture = await OperatorFixture.start({ nodes: 2, environment: { HEARTBEAT_STALE_SECONDS: "35" } });
    await fixture.startOperator();
    [name = ""] = fixture.nodeNames;
  });

  afterEach(() => fixture.clear());

  const leaseOf = (node: string) => fixture.leases.find({ name: node, namespace: fixture.namespace });
  const lease = (what: string) => eventually(() => leaseOf(name), { what });
  const ready = async (node: string, reason: string): Promise<Stored<GameNode>> =>
    eventually(
      async () => {
        const found = await fixture.gameNodes.get({ name: node });
        return found.status?.conditions?.find(({ type }) => type === "Ready")?.reason === reason && found;
      },
      { what: `Ready of ${node} to be ${reason}` },
    );

  it("use one Lease per GameNode, deleted with it", async () => {
    const { metadata } = await lease("the Lease");
    const {
      metadata: { uid },
    } = await fixture.gameNodes.get({ name });
    expect(metadata.labels).to.deep.equal(heartbeatLabelsOf({ name: "" }));
    expect(metadata.ownerReferences).to.deep.equal([
      {
        apiVersion: "joypod.dev/v1alpha1",
        kind: "GameNode",
        name,
        uid,
        controller: true,
        blockOwnerDeletion: false,
      },
    ]);
    await fixture.nodes.mergePatch({ name }, { metadata: { labels: { fixture: null } } });
    await eventually(
      async () =>
        (await leaseOf(name)) === undefined && (await fixture.gameNodes.find({ name })) === undefined,
      { what: "GameNode and Lease to be gone" },
    );
  });

  it("get a new Lease if it was deleted or the GameNode was replaced", async () => {
    const first = await lease("the Lease");
    await fixture.leases.delete(first.metadata);
    const second = await eventually(
      async () => {
        const found = await leaseOf(name);
        return found?.metadata.uid !== first.metadata.uid && found;
      },
      { what: "another Lease" },
    );
    await fixture.gameNodes.delete({ name });
    await eventually(
      async () => {
        const [found, gameNode] = [await leaseOf(name), await fixture.gameNodes.find({ name })];
        return (
          found !== undefined &&
          found.metadata.uid !== second.metadata.uid &&
          found.metadata.ownerReferences?.[0]?.uid === gameNode?.metadata.uid
        );
      },
      { what: "a Lease of the new GameNode" },
    );
  });

  it("count in the Lease and, as from agents of an earlier release, in the status", async () => {
    const [, former = ""] = fixture.nodeNames;
    for (const node of fixture.nodeNames)
      await eventually(() => leaseOf(node), { what: `the Lease of ${node}` });
    await fixture.components.renew(name);
    for (let time = 0; time < 3; time++) {
      await fixture.pass(staleMs / 2);
      await fixture.components.renew(name);
      await fixture.components.report(former);
      for (const node of fixture.nodeNames) await ready(node, "NodeAndAgentWell");
    }
    await fixture.pass(staleMs);
    for (const node of fixture.nodeNames) await ready(node, "AgentSilent");
    await fixture.components.renew(name);
    await ready(name, "NodeAndAgentWell");
    await fixture.components.report(former);
    await ready(former, "NodeAndAgentWell");
  });

  it("are detected as missing even if they expire during a pass", async () => {
    await fixture.clear();
    const clock = new HastyClock();
    fixture = await OperatorFixture.start({
      nodes: 2,
      environment: { HEARTBEAT_STALE_SECONDS: "35" },
      clock,
    });
    await fixture.startOperator();
    const [first = "", other = ""] = fixture.nodeNames;
    name = first;
    for (const node of fixture.nodeNames)
      await eventually(() => leaseOf(node), { what: `the Lease of ${node}` });
    // Without another agent's heartbeats the operator could not know whether its watch works.
    const silent = (): Promise<unknown> =>
      eventually(
        async () => {
          await fixture.components.renew(other);
          return (await fixture.gameNodes.get({ name })).status?.conditions?.some(
            ({ reason }) => reason === "AgentSilent",
          );
        },
        { what: "a silent agent" },
      );
    for (let looks = 0; looks < 30; looks++) {
      clock.earlyMs = looks / 2;
      await fixture.components.renew(name);
      await ready(name, "NodeAndAgentWell");
      await fixture.pass(staleMs - 1_100);
      await silent();
    }
  });

  it("do not count as missing while the watch of the Leases is silently dead", async () => {
    for (const node of fixture.nodeNames) {
      await eventually(() => leaseOf(node), { what: `the Lease of ${node}` });
      await fixture.components.renew(node);
    }
    await fixture.stopOperators();
    const api = await FaultyApi.start(await sharedKubeApiServer());
    try {
      api.silenceOnce(watchOf("leases"));
      await fixture.startOperator({ kubeconfig: api.kubeconfig() });
      const placed = async (userId: string): Promise<void> => {
        const { metadata } = await fixture.launch({ userId });
        await fixture.session(
          metadata.name,
          ({ status }) => status?.nodeName !== undefined,
          "placed session",
        );
      };
      const lastChanges = () =>
        Promise.all(
          fixture.nodeNames.map(
            async (node) =>
              (await ready(node, "NodeAndAgentWell")).status?.conditions?.find(({ type }) => type === "Ready")
                ?.lastTransitionTime,
          ),
        );
      const before = await lastChanges();
      await fixture.responses();
      fixture.clock.jump(staleMs);
      await placed("user1");
      for (const node of fixture.nodeNames) await fixture.components.renew(node);
      api.cutWatches();
      await eventually(() => api.requests.filter(watchOf("leases")).length >= 2, {
        what: "another watch of the Leases",
      });
      await placed("user2");
      expect(await lastChanges()).to.deep.equal(before);
    } finally {
      await fixture.stopOperators();
      await api.stop();
    }
  });

  it("cause no writes and no change of the GameNode", async () => {
    await lease("the Lease");
    await fixture.components.renew(name);
    const {
      metadata: { resourceVersion },
    } = await ready(name, "NodeAndAgentWell");
    for (let time = 0; time < 5; time++) {
      await fixture.pass(staleMs / 3);
      await fixture.components.renew(name);
    }
    // When the other node's agent counts as silent, the operator has processed these heartbeats.
    await ready(fixture.nodeNames[1] ?? "", "AgentSilent");
    expect((await fixture.gameNodes.get({ name })).metadata.resourceVersion).to.equal(resourceVersion);
  });
});
