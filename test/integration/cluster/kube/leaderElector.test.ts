import { expect } from "chai";
import { type Lease, leases } from "#kube/api/builtin.ts";
import { type Clock, systemClock } from "#runtime/scheduling/clock.ts";
import { LeaderElector, type LeaderElectorOptions } from "#kube/controllers/leaderElector.ts";
import { ResourceClient } from "#kube/client/resourceClient.ts";
import { TcpRelay } from "#test/support/stores/tcpRelay.ts";
import { eventually } from "#test/support/clocks/eventually.ts";
import { FaultyApi, type SeenRequest } from "#test/support/cluster/faultyApi.ts";
import { type KubeApiServer, sharedKubeApiServer } from "#test/support/cluster/kubeApiServer.ts";

const times = { leaseDurationMs: 4000, renewDeadlineMs: 3000, retryPeriodMs: 200 };

describe("LeaderElector", () => {
  let server: KubeApiServer;
  let namespace: string;
  let client: ResourceClient<Lease>;
  let electors: LeaderElector[];
  let losses: string[];

  before(async function () {
    this.timeout(60_000);
    server = await sharedKubeApiServer();
    client = new ResourceClient(server.admin, leases);
  });

  beforeEach(async () => {
    namespace = await server.createNamespace();
    electors = [];
    losses = [];
  });

  afterEach(async () => {
    await Promise.all(electors.map((elector) => elector.stop()));
  });

  function anElector(identity: string, options: Partial<LeaderElectorOptions> = {}): LeaderElector {
    const elector = new LeaderElector({
      transport: server.admin,
      namespace,
      name: "leader",
      identity,
      ...times,
      onLost: () => losses.push(identity),
      ...options,
    });
    electors.push(elector);
    return elector;
  }

  it("elects one of two processes, and the other immediately when the first stops", async () => {
    // No lease expires while the clock stands still, so the second process can only take a released one.
    const clock: Clock = { ...systemClock, monotonicMs: () => 0 };
    const [a, b] = [anElector("a", { clock }), anElector("b", { clock })];
    await Promise.race([a.start(), b.start()]);
    const [leader, follower] = a.isLeader ? [a, b] : [b, a];
    expect([leader.isLeader, follower.isLeader]).to.deep.equal([true, false]);
    const elected = follower.start();
    await leader.stop();
    await elected;
    expect([leader.isLeader, follower.isLeader]).to.deep.equal([false, true]);
    expect(losses, "stopping is not losing").to.deep.equal([]);
  });

  describe("that stops", () => {
    let api: FaultyApi;
    const isWrite = ({ method }: SeenRequest): boolean => method === "PUT" || method === "POST";
    const holder = async (): Promise<string | undefined> =>
      (await client.get({ name: "leader", namespace })).spec?.holderIdentity;

    beforeEach(async () => {
      api = await FaultyApi.start(server);
    });
    afterEach(() => api.stop());

    it("releases its lease despite an in-flight renewal that succeeds", async () => {
      const a = anElector("a", { transport: api.transport() });
      await a.start();
      await api.holdResponseOnce(isWrite).carriedOut;
      await a.stop();
      expect(await holder()).to.equal("");
    });

    it("releases a lease that it was about to take", async () => {
      const claim = api.holdResponseOnce(isWrite);
      const a = anElector("a", { transport: api.transport() });
      const elected = a.start().catch(() => "stopped");
      await claim.carriedOut;
      await a.stop();
      expect([await elected, await holder()]).to.deep.equal(["stopped", ""]);
    });

    // There is no renewal before the stop, so the next write is the release.
    const rarely = { retryPeriodMs: 1900 };

    it("releases its lease with a second request if the first one hangs", async () => {
      const a = anElector("a", { transport: api.transport(), ...rarely });
      await a.start();
      const { arrived, release } = api.holdOnce(isWrite);
      await Promise.all([a.stop(), arrived]);
      expect(await holder()).to.equal("");
      release();
    });

    it("detects that its lease was released without a response", async () => {
      const a = anElector("a", { transport: api.transport(), ...rarely });
      await a.start();
      const { carriedOut } = api.holdResponseOnce(isWrite);
      const before = api.requests.length;
      await Promise.all([a.stop(), carriedOut]);
      expect(api.requests.slice(before).filter(isWrite), "releases").to.have.length(1);
      expect(await holder()).to.equal("");
    });
  });

  it("loses immediately when it resumes after its lease may have been taken", async () => {
    const api = await FaultyApi.start(server);
    let isToFreeze = false;
    let frozenMs = 0;
    let requests = 0;
    const clock: Clock = {
      ...systemClock,
      monotonicMs: () => systemClock.monotonicMs() + frozenMs,
      sleep: (ms, signal) => {
        if (isToFreeze) [frozenMs, requests] = [times.leaseDurationMs, api.requests.length];
        return systemClock.sleep(ms, signal);
      },
    };
    try {
      const a = anElector("a", { transport: api.transport(), clock });
      await a.start();
      isToFreeze = true;
      await eventually(() => losses.length === 1);
      expect([api.requests.length, a.isLeader]).to.deep.equal([requests, false]);
    } finally {
      await api.stop();
    }
  });

  it("renews its lease and keeps others out", async () => {
    const a = anElector("a");
    await a.start();
    const first = await client.get({ name: "leader", namespace });
    const b = anElector("b");
    const elected = b.start().catch(() => undefined);
    await eventually(async () => {
      const { metadata } = await client.get({ name: "leader", namespace });
      return Number(metadata.resourceVersion) > Number(first.metadata.resourceVersion);
    });
    expect([a.isLeader, b.isLeader, a.transitions]).to.deep.equal([true, false, 0]);
    await b.stop();
    await elected;
  });

  it("keeps its lease while a request hangs on a silently dead connection", async () => {
    const faulty = await FaultyApi.start(server);
    const relay = await TcpRelay.start(faulty.url);
    const transport = faulty.transport({}, `http://${relay.host}`);
    try {
      const a = anElector("a", { transport });
      await a.start();
      relay.stall();
      const stalledMs = Date.now();
      await eventually(
        async () => {
          const { spec } = await client.get({ name: "leader", namespace });
          return Date.parse(spec?.renewTime ?? "") > stalledMs + times.renewDeadlineMs;
        },
        { timeoutMs: times.renewDeadlineMs * 3, what: "a renewal later than the renew deadline" },
      );
      expect([a.isLeader, losses]).to.deep.equal([true, []]);
      await a.stop();
    } finally {
      await relay.stop();
      await faulty.stop();
    }
  });

  it("takes over the expired lease of a dead leader with a higher fencing token", async () => {
    await client.create({
      metadata: { name: "leader", namespace },
      // This clock is far ahead, but only observed changes count.
      spec: {
        holderIdentity: "dead",
        leaseDurationSeconds: 1,
        renewTime: "2099-01-01T00:00:00.000000Z",
        leaseTransitions: 4,
      },
    });
    const a = anElector("a");
    const startedMs = performance.now();
    await a.start();
    expect(performance.now() - startedMs).to.be.at.least(1000);
    expect(a.transitions).to.equal(5);
  });

  it("checks twice per renewal interval and when another's lease expires", async () => {
    await client.create({
      metadata: { namespace, name: "leader" },
      spec: { holderIdentity: "dead", leaseDurationSeconds: 2 },
    });
    const pauses: number[] = [];
    let elapsedMs = 0;
    const clock: Clock = {
      ...systemClock,
      monotonicMs: () => elapsedMs,
      sleep: (ms, signal) => {
        pauses.push(ms);
        elapsedMs += ms;
        return systemClock.sleep(0, signal);
      },
    };
    // Without jitter.
    const a = anElector("a", {
      clock,
      random: () => 0.5,
      leaseDurationMs: 30_000,
      renewDeadlineMs: 20_000,
      retryPeriodMs: 3000,
    });
    await a.start();
    expect(pauses.slice(0, 2)).to.deep.equal([1500, 500]);
  });

  it("loses when it cannot renew in time, before another process can lead", async function () {
    this.timeout(30_000);
    const api = await FaultyApi.start(server);
    try {
      const a = anElector("a", { transport: api.transport() });
      await a.start();
      const held = Array.from({ length: 20 }, () => api.holdOnce(() => true));
      const b = anElector("b");
      let wasAlone = true;
      await Promise.all([
        b.start().then(() => (wasAlone = !a.isLeader)),
        eventually(() => losses.includes("a")),
      ]);
      expect([wasAlone, a.isLeader, b.isLeader, a.transitions]).to.deep.equal([true, false, true, undefined]);
      for (const { release } of held) release();
    } finally {
      await api.stop();
    }
  });

  it("loses when another process has taken the lease, and does not take it back", async () => {
    const a = anElector("a");
    await a.start();
    const lease = await client.get({ name: "leader", namespace });
    await client.mergePatch(lease.metadata, { spec: { holderIdentity: "usurper" } });
    await eventually(() => losses.length === 1);
    expect([a.isLeader, (await client.get(lease.metadata)).spec?.holderIdentity]).to.deep.equal([
      false,
      "usurper",
    ]);
  });

  it("keeps the lead when someone else touches the lease's labels", async () => {
    const a = anElector("a");
    await a.start();
    const touched = await client.mergePatch(
      { name: "leader", namespace },
      { metadata: { labels: { touched: "yes" } } },
    );
    await eventually(
      async () =>
        Number((await client.get(touched.metadata)).metadata.resourceVersion) >
        Number(touched.metadata.resourceVersion),
    );
    expect([a.isLeader, losses.length]).to.deep.equal([true, 0]);
  });

  it("refuses inconsistent durations", () => {
    expect(() => anElector("a", { renewDeadlineMs: 4000 })).to.throw(
      "retryPeriodMs * 1.5 < renewDeadlineMs < leaseDurationMs",
    );
  });
});
