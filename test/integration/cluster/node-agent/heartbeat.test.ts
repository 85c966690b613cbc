import { expect } from "chai";
import { heartbeatLabelsOf } from "#contracts/crd/installation.ts";
import { limits } from "#contracts/limits.ts";
import { isReported, type NodeReport } from "#node-agent/status/nodeReporter.ts";
import type { Write } from "#test/support/cluster/countedTransport.ts";
import { conditionStatusOf } from "#test/support/cluster/conditionStatusOf.ts";
import { eventually } from "#test/support/clocks/eventually.ts";
import { JumpClock } from "#test/support/clocks/jumpClock.ts";
import { holdVersions } from "#test/support/fixtures/heldVersions.ts";
import { beforeEachWithNodeAgent, type NodeAgentFixture } from "#test/support/fixtures/nodeAgentFixture.ts";

const periodMs = limits.node.heartbeatSeconds * 1000;
/** The period varies randomly by a tenth. */
const longestPeriodMs = periodMs * 1.15;
const shortestPeriodMs = periodMs * 0.9;
const beats = 5;

describe("Node agent heartbeat", function () {
  this.timeout(60_000);
  let fixture: NodeAgentFixture;
  let clock: JumpClock;

  beforeEachWithNodeAgent(async (fresh) => {
    fixture = fresh;
    clock = new JumpClock();
    await fixture.createGameNode();
  });

  /** Advances time until the agent has sent another heartbeat in the given place. */
  async function nextBeat(place: () => Promise<string | undefined>): Promise<void> {
    const before = await place();
    await eventually(
      async () => {
        clock.jump(longestPeriodMs);
        return eventually(async () => (await place()) !== before, { timeoutMs: 1_000 }).catch(() => false);
      },
      { timeoutMs: 20_000, what: "a heartbeat" },
    );
  }

  /**
   * The agent's requests follow the API server's time, which tests cannot advance, plus its clock's offset.
   * Its cache is small, so that other changes of the machine's disk do not count.
   */
  const startAgent = () =>
    fixture.startAgent(
      { CACHE_BUDGET_BYTES: String(2 ** 30) },
      { clock, requestClock: new JumpClock(clock.skewMs) },
    );

  /** Creates the Lease like the operator does with the GameNode. */
  async function createLease(): Promise<void> {
    await fixture.leases.create({
      metadata: { name: fixture.node, namespace: fixture.namespace, labels: heartbeatLabelsOf({ name: "" }) },
      spec: {},
    });
  }

  const inLease = async (): Promise<string | undefined> =>
    (await fixture.leases.find({ name: fixture.node, namespace: fixture.namespace }))?.spec?.renewTime;
  const inStatus = async (): Promise<string | undefined> =>
    (await fixture.gameNode()).status?.heartbeat?.renewedAt;
  const reported = () =>
    eventually(async () => conditionStatusOf(await fixture.gameNode(), "StoreReachable") === "True", {
      timeoutMs: 20_000,
      what: "a whole report",
    });

  it("takes a write of a few hundred bytes, regardless of the node's content", async () => {
    await holdVersions(fixture.root, limits.node.cacheEntriesReported);
    await createLease();
    const transport = await startAgent();
    const { writes } = transport;
    const noRequests = () => eventually(() => transport.underWay === 0, { what: "no request under way" });
    await reported();
    expect((await fixture.gameNode()).status?.cache?.entries).to.have.length(
      limits.node.cacheEntriesReported,
    );
    await nextBeat(inLease);
    await noRequests();
    const [from, startedMs] = [writes.length, clock.monotonicMs()];
    for (let beat = 0; beat < beats; beat++) {
      await nextBeat(inLease);
      await noRequests();
    }
    const most = Math.ceil((clock.monotonicMs() - startedMs) / shortestPeriodMs);
    const renewals = writes.slice(from).filter(({ path }) => path.includes("/leases/"));
    expect(renewals.length).to.be.within(beats, most);
    expect(Math.max(...renewals.map(({ bytes }) => bytes))).to.be.below(200);
    const statusesOf = (some: readonly Write[]): NodeReport[] =>
      some
        .filter(({ path }) => path.includes("/gamenodes/"))
        .map(({ body }) => (body as { status: NodeReport }).status);
    const statuses = [...statusesOf(writes.slice(0, from)).slice(-1), ...statusesOf(writes.slice(from))];
    for (const [index, status] of statuses.slice(1).entries())
      expect(isReported(statuses[index], status), "a status is written again unchanged").to.equal(false);
  });

  it("is in the status if there is no Lease or the agent may not renew it", async () => {
    await startAgent();
    await reported();
    await nextBeat(inStatus);
    await nextBeat(inStatus);
    await createLease();
    await nextBeat(inLease);
    await nextBeat(inLease);
    const before = await inStatus();
    await nextBeat(inLease);
    expect(await inStatus(), "the Lease alone").to.equal(before);
    await fixture.rights.allowLease(false);
    await nextBeat(inStatus);
    await fixture.rights.allowLease(true);
    await nextBeat(inLease);
  });

  for (const minutes of [10, -10]) {
    it(`is renewed and accepted if the node's clock is off by ${minutes} minutes`, async () => {
      clock.skewMs = minutes * 60_000;
      await createLease();
      await startAgent();
      await nextBeat(inLease);
      await nextBeat(inLease);
      await eventually(async () => conditionStatusOf(await fixture.gameNode(), "ClockInStep") === "False", {
        timeoutMs: 20_000,
        what: "the agent to say that its clock is off",
      });
    });
  }

  it("is followed by an immediate report if the GameNode was created again", async () => {
    await createLease();
    await startAgent();
    await reported();
    await nextBeat(inLease);
    await fixture.nodes.delete({ name: fixture.node });
    await fixture.createGameNode();
    await eventually(async () => (await fixture.gameNode()).status?.cache, {
      timeoutMs: 5_000,
      what: "the report",
    });
  });
});
