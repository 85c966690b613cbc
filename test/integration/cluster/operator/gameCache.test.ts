import { expect } from "chai";
import type { GameCache } from "#contracts/crd/gameCache.ts";
import type { CacheEntry, DesiredContent } from "#contracts/crd/gameNode.ts";
import { publicStatusOf } from "#contracts/crd/sessionState.ts";
import type { Stored } from "#kube/api/object.ts";
import { anArchiveSource } from "#test/factories/gameCache.ts";
import { aCacheEntry } from "#test/factories/gameNode.ts";
import { aDigest } from "#test/factories/gameSession.ts";
import { eventually } from "#test/support/clocks/eventually.ts";
import { CountedTransport } from "#test/support/cluster/countedTransport.ts";
import { kstatusOf } from "#test/support/cluster/kstatus.ts";
import { OperatorFixture } from "#test/support/fixtures/operatorFixture.ts";

const slug = "the-question";

describe("GameCache controller", function () {
  this.timeout(60_000);
  let fixture: OperatorFixture;

  afterEach(() => fixture.clear());

  async function set(nodes: number): Promise<void> {
    fixture = await OperatorFixture.start({ nodes });
    await fixture.startOperator();
  }

  async function cache(
    isRight: (found: Stored<GameCache>) => boolean,
    what: string,
  ): Promise<Stored<GameCache>> {
    let last: GameCache["status"];
    return eventually(
      async () => {
        const found = await fixture.caches.get({ name: slug, namespace: fixture.namespace });
        last = found.status;
        return isRight(found) ? found : undefined;
      },
      { what },
    ).catch((cause: unknown) => {
      throw new Error(`No ${what}: ${JSON.stringify(last)}`, { cause });
    });
  }

  /** Returns each node's desired content, in the order of the nodes. */
  async function desired(
    isRight: (all: DesiredContent[][]) => boolean,
    what: string,
  ): Promise<DesiredContent[][]> {
    return eventually(
      async () => {
        const all = await Promise.all(
          fixture.nodeNames.map(async (name) => (await fixture.gameNodes.get({ name })).spec.desired),
        );
        return isRight(all) ? all : undefined;
      },
      { what },
    );
  }

  const turns = (all: DesiredContent[][]): (boolean | undefined)[] => all.map((list) => list[0]?.hold);
  const ready = ({ status }: GameCache): string | undefined =>
    status?.conditions?.find(({ type }) => type === "Ready")?.reason;
  const report = (number: number, ...entries: CacheEntry[]): Promise<void> =>
    fixture.components.report(fixture.nodeNames[number] ?? "", { entries });

  it("fills node after node, one at a time, and reports progress", async () => {
    await set(3);
    await fixture.createCache(slug, { rollout: { maxParallelNodes: 1 } });
    await desired((all) => turns(all).join() === "false,true,true", "the first node's turn");
    await cache(({ status }) => status?.totalNodes === 3 && status.pendingNodes === 3, "three pending nodes");

    await report(0, aCacheEntry({ state: "Downloading", progressPercent: 40 }));
    const downloading = await cache(
      ({ status }) => status?.nodes?.[0]?.state === "Downloading",
      "a download",
    );
    expect(downloading.status?.nodes?.[0]).to.include({ progressPercent: 40 });
    expect(ready(downloading)).to.equal("Filling");
    expect(kstatusOf(downloading)).to.equal("InProgress");

    await report(0, aCacheEntry());
    await desired((all) => turns(all).join() === "false,false,true", "the second node's turn");
    await report(1, aCacheEntry({ state: "Failed", reason: "entry ../x is refused" }));
    await desired(
      (all) => turns(all).join() === "false,true,false",
      "the third node's turn, as the second failed",
    );
    await report(2, aCacheEntry());
    const failed = await cache(
      ({ status }) => status?.failedNodes === 1 && status.cachedNodes === 2,
      "one failed node",
    );
    expect(ready(failed)).to.equal("NodesFailed");
    expect(kstatusOf(failed)).to.equal("Failed");
    expect(failed.status?.nodes?.find(({ state }) => state === "Failed")?.reason).to.equal(
      "entry ../x is refused",
    );
    await report(1, aCacheEntry());
    const filled = await cache(({ status }) => status?.cachedNodes === 3, "three filled nodes");
    expect(ready(filled)).to.equal("AllNodesCached");
    expect(kstatusOf(filled)).to.equal("Current");
    expect(
      await eventually(async () => (await fixture.eventsOf(slug)).includes("AllNodesCached"), {
        what: "an event",
      }),
    ).to.equal(true);
  });

  it("writes download progress at most every two seconds", async () => {
    fixture = await OperatorFixture.start();
    /** The times of all writes of the cache's status, by the operator's clock. */
    const writtenMs: number[] = [];
    const transport = new CountedTransport(fixture.kubeconfigPath, ({ path }) => {
      const isStatus = path.includes(`/gamecaches/${slug}/status`);
      if (isStatus) writtenMs.push(fixture.clock.monotonicMs());
      return isStatus;
    });
    await (await fixture.standByOperator(transport)).lead();
    await fixture.reportNodes();
    await fixture.createCache(slug);
    const shown = (percent: number) =>
      cache(({ status }) => status?.nodes?.[0]?.progressPercent === percent, `${percent} percent`);
    const responses = () =>
      eventually(() => transport.underWay === 0, {
        what: "an operator that waits for no response",
        intervalMs: 5,
      });
    await report(0, aCacheEntry({ state: "Downloading", progressPercent: 0 }));
    await shown(0);
    await responses();
    const first = writtenMs.length;
    for (let percent = 1; percent <= 20; percent++)
      await report(0, aCacheEntry({ state: "Downloading", progressPercent: percent }));
    await responses();
    fixture.clock.jump(2000);
    await shown(20);
    await responses();
    const apart = writtenMs.slice(first).map((ms, index) => ms - (writtenMs[first + index - 1] ?? 0));
    expect(apart, "writes of how far the download is").to.not.be.empty;
    for (const ms of apart) expect(ms, "milliseconds after the write before").to.be.at.least(2000);
  });

  it("switches to a new version and keeps the previous one on its nodes", async () => {
    await set(1);
    const created = await fixture.createCache(slug, { keepVersions: 2, priority: 5, pinned: true });
    await report(0, aCacheEntry());
    await cache(({ status }) => status?.cachedNodes === 1, "the first version");
    const next = anArchiveSource("c".repeat(64));
    await fixture.caches.mergePatch(created.metadata, {
      spec: { source: next, previousSources: [anArchiveSource()] },
    });
    const [list = []] = await desired((all) => all[0]?.length === 2, "both versions");
    expect(list.find(({ digest }) => digest === next.sha256)).to.deep.include({
      hold: false,
      priority: 5,
      pinned: true,
      source: next,
    });
    expect(list.find(({ digest }) => digest === aDigest)).to.deep.include({ hold: true });
    const filling = await cache(
      ({ status }) => status?.currentDigest === next.sha256,
      "the new version's status",
    );
    expect(filling.status).to.include({ cachedNodes: 0, pendingNodes: 1 });
  });

  it("fills only the configured number of nodes, and the right ones", async () => {
    await set(2);
    await fixture.nodes.mergePatch(
      { name: fixture.nodeNames[1] ?? "" },
      { metadata: { labels: { disk: "fast" } } },
    );
    await fixture.createCache(slug, {
      placement: { policy: "Count", count: 1, nodeSelector: { disk: "fast" } },
    });
    await desired(
      ([first = [], second = []]) => first.length === 0 && second.length === 1,
      "the one node with the label",
    );
    await cache(({ status }) => status?.totalNodes === 1, "one node");
  });

  it("fills another node in place of one that lost its label", async () => {
    await set(2);
    for (const name of fixture.nodeNames)
      await fixture.nodes.mergePatch({ name }, { metadata: { labels: { disk: "fast" } } });
    await fixture.createCache(slug, {
      placement: { policy: "Count", count: 1, nodeSelector: { disk: "fast" } },
    });
    const all = await desired((lists) => lists.flat().length === 1, "one of the nodes");
    const chosen = all.findIndex((list) => list.length === 1);
    await fixture.nodes.mergePatch(
      { name: fixture.nodeNames[chosen] ?? "" },
      { metadata: { labels: { disk: null } } },
    );
    await desired(
      (lists) => lists[chosen]?.length === 0 && lists[1 - chosen]?.length === 1,
      "the other node",
    );
  });

  it("fills an on-demand game first on a node where a session waits for it", async () => {
    await set(1);
    const [node = ""] = fixture.nodeNames;
    fixture.components.behaviour.nodesWithoutContent.add(node);
    await fixture.createCache(slug, { placement: { policy: "OnDemand" } });
    const onDemand = await cache((found) => found.status !== undefined, "a status");
    expect(ready(onDemand)).to.equal("OnDemand");
    expect(kstatusOf(onDemand)).to.equal("Current");
    const { metadata } = await fixture.launch();
    const [list = []] = await desired((all) => all[0]?.length === 1, "the session's version");
    expect(list[0]).to.deep.include({
      digest: aDigest,
      priority: 1000,
      hold: false,
      source: anArchiveSource(),
    });

    await report(0, aCacheEntry());
    fixture.components.behaviour.nodesWithoutContent.delete(node);
    await fixture.sessions.mergePatch(metadata, { metadata: { annotations: { look: "again" } } });
    await fixture.session(
      metadata.name,
      (session) => publicStatusOf(session) === "running",
      "running session",
    );
    await desired((all) => all[0]?.length === 0, "nothing more to be asked for");
    await cache(({ status }) => status?.cachedNodes === 1, "the node that holds it");
  });

  it("withdraws the desired entries of a deleted cache while its session continues", async () => {
    await set(1);
    const created = await fixture.createCache(slug);
    await report(0, aCacheEntry());
    await cache(
      ({ metadata, status }) => metadata.finalizers !== undefined && status?.cachedNodes === 1,
      "a filled cache",
    );
    const { metadata } = await fixture.launch();
    await fixture.session(
      metadata.name,
      (session) => publicStatusOf(session) === "running",
      "running session",
    );
    await fixture.caches.delete(created.metadata);
    await eventually(async () => (await fixture.caches.find(created.metadata)) === undefined, {
      what: "the cache to be gone",
    });
    await desired((all) => all[0]?.length === 0, "nothing to be asked for");
    expect(publicStatusOf(await fixture.sessions.get(metadata))).to.equal("running");
  });
});
