import { expect } from "chai";
import type { GameCache } from "#contracts/crd/gameCache.ts";
import type { CacheEntry, DesiredContent } from "#contracts/crd/gameNode.ts";
import { publicStatusOf } from "#contracts/crd/publicStatus.ts";
import type { Stored } from "#kube/object.ts";
import { anArchiveSource } from "#test/factories/gameCache.ts";
import { aCacheEntry } from "#test/factories/gameNode.ts";
import { aDigest } from "#test/factories/gameSession.ts";
import { eventually } from "#test/support/clocks/eventually.ts";
import { OperatorStage } from "#test/support/fixtures/operatorFixture.ts";

const slug = "the-question";

describe("GameCache controller", function () {
  this.timeout(60_000);
  let stage: OperatorStage;

  afterEach(() => stage.clear());

  async function set(nodes: number): Promise<void> {
    stage = await OperatorStage.set({ nodes });
    await stage.startOperator();
  }

  async function cache(isRight: (found: Stored<GameCache>) => boolean, what: string): Promise<Stored<GameCache>> {
    let last: GameCache["status"];
    return eventually(async () => {
      const found = await stage.caches.get({ name: slug, namespace: stage.namespace });
      last = found.status;
      return isRight(found) ? found : undefined;
    }, { what }).catch((cause: unknown) => {
      throw new Error(`No ${what}: ${JSON.stringify(last)}`, { cause });
    });
  }

  /** What each node is asked to hold, in the order of the nodes. */
  async function desired(isRight: (all: DesiredContent[][]) => boolean, what: string): Promise<DesiredContent[][]> {
    return eventually(async () => {
      const all = await Promise.all(stage.nodeNames.map(async (name) => (await stage.gameNodes.get({ name })).spec.desired));
      return isRight(all) ? all : undefined;
    }, { what });
  }

  const turns = (all: DesiredContent[][]): (boolean | undefined)[] => all.map((list) => list[0]?.hold);
  const ready = ({ status }: GameCache): string | undefined => status?.conditions?.find(({ type }) => type === "Ready")?.reason;
  const report = (number: number, ...entries: CacheEntry[]): Promise<void> => stage.parts.report(stage.nodeNames[number] ?? "", { entries });

  it("fills node after node, one at a time, and reports how far it is", async () => {
    await set(3);
    await stage.createCache(slug, { rollout: { maxParallelNodes: 1 } });
    await desired((all) => turns(all).join() === "false,true,true", "the first node's turn");
    await cache(({ status }) => status?.totalNodes === 3 && status.pendingNodes === 3, "three pending nodes");

    await report(0, aCacheEntry({ state: "Downloading", progressPercent: 40 }));
    const downloading = await cache(({ status }) => status?.nodes?.[0]?.state === "Downloading", "a download");
    expect(downloading.status?.nodes?.[0]).to.include({ progressPercent: 40 });
    expect(ready(downloading)).to.equal("Filling");

    await report(0, aCacheEntry());
    await desired((all) => turns(all).join() === "false,false,true", "the second node's turn");
    await report(1, aCacheEntry({ state: "Failed", reason: "entry ../x is refused" }));
    await desired((all) => turns(all).join() === "false,true,false", "the third node's turn, as the second failed");
    await report(2, aCacheEntry());
    const failed = await cache(({ status }) => status?.failedNodes === 1 && status.cachedNodes === 2, "one failed node");
    expect(ready(failed)).to.equal("NodesFailed");
    expect(failed.status?.nodes?.find(({ state }) => state === "Failed")?.reason).to.equal("entry ../x is refused");
    await report(1, aCacheEntry());
    expect(ready(await cache(({ status }) => status?.cachedNodes === 3, "three filled nodes"))).to.equal("AllNodesCached");
    expect(await eventually(async () => (await stage.eventsOf(slug)).includes("AllNodesCached"), { what: "an event" })).to.equal(true);
  });

  it("fills a new version and keeps the former one where it is", async () => {
    await set(1);
    const created = await stage.createCache(slug, { keepVersions: 2, priority: 5, pinned: true });
    await report(0, aCacheEntry());
    await cache(({ status }) => status?.cachedNodes === 1, "the first version");
    const next = anArchiveSource("c".repeat(64));
    await stage.caches.mergePatch(created.metadata, { spec: { source: next, previousSources: [anArchiveSource()] } });
    const [list = []] = await desired((all) => all[0]?.length === 2, "both versions");
    expect(list.find(({ digest }) => digest === next.sha256)).to.deep.include({ hold: false, priority: 5, pinned: true, source: next });
    expect(list.find(({ digest }) => digest === aDigest)).to.deep.include({ hold: true });
    const filling = await cache(({ status }) => status?.currentDigest === next.sha256, "the new version's status");
    expect(filling.status).to.include({ cachedNodes: 0, pendingNodes: 1 });
  });

  it("asks only for the wanted number of nodes, and of the right ones", async () => {
    await set(2);
    await stage.nodes.mergePatch({ name: stage.nodeNames[1] ?? "" }, { metadata: { labels: { disk: "fast" } } });
    await stage.createCache(slug, { placement: { policy: "Count", count: 1, nodeSelector: { disk: "fast" } } });
    await desired(([first = [], second = []]) => first.length === 0 && second.length === 1, "the one node with the label");
    await cache(({ status }) => status?.totalNodes === 1, "one node");
  });

  it("asks for an on-demand game where a session waits for it, before everything else", async () => {
    await set(1);
    const [node = ""] = stage.nodeNames;
    stage.parts.behaviour.nodesWithoutContent.add(node);
    await stage.createCache(slug, { placement: { policy: "OnDemand" } });
    expect(ready(await cache((found) => found.status !== undefined, "a status"))).to.equal("OnDemand");
    const { metadata } = await stage.launch();
    const [list = []] = await desired((all) => all[0]?.length === 1, "the session's version");
    expect(list[0]).to.deep.include({ digest: aDigest, priority: 1000, hold: false, source: anArchiveSource() });

    await report(0, aCacheEntry());
    stage.parts.behaviour.nodesWithoutContent.delete(node);
    await stage.sessions.mergePatch(metadata, { metadata: { annotations: { look: "again" } } });
    await stage.session(metadata.name, (session) => publicStatusOf(session) === "running", "running session");
    await desired((all) => all[0]?.length === 0, "nothing more to be asked for");
    await cache(({ status }) => status?.cachedNodes === 1, "the node that holds it");
  });

  it("asks nodes no more for a cache that is deleted, while its session goes on", async () => {
    await set(1);
    const created = await stage.createCache(slug);
    await report(0, aCacheEntry());
    await cache(({ metadata, status }) => metadata.finalizers !== undefined && status?.cachedNodes === 1, "a filled cache");
    const { metadata } = await stage.launch();
    await stage.session(metadata.name, (session) => publicStatusOf(session) === "running", "running session");
    await stage.caches.delete(created.metadata);
    await eventually(async () => await stage.caches.find(created.metadata) === undefined, { what: "the cache to be gone" });
    await desired((all) => all[0]?.length === 0, "nothing to be asked for");
    expect(publicStatusOf(await stage.sessions.get(metadata))).to.equal("running");
  });
});
