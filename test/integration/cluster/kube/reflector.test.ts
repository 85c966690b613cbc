import { expect } from "chai";
import { type ConfigMap, configMaps } from "#kube/api/builtin.ts";
import { Reflector, type ReflectorOptions } from "#kube/cache/reflector.ts";
import { ResourceClient } from "#kube/client/resourceClient.ts";
import { type Change, ObjectCache } from "#kube/cache/cache.ts";
import { eventually } from "#test/support/clocks/eventually.ts";
import { FakeClock } from "#test/support/clocks/fakeClock.ts";
import { FaultyApi } from "#test/support/cluster/faultyApi.ts";
import { fullListOf, lookAtOneOf, tooLarge, watchOf } from "#test/support/cluster/seenRequests.ts";
import { TcpRelay } from "#test/support/stores/tcpRelay.ts";
import { type KubeApiServer, sharedKubeApiServer } from "#test/support/cluster/kubeApiServer.ts";

const isLookAtOne = lookAtOneOf("configmaps");
const isList = fullListOf("configmaps");
const isWatch = watchOf("configmaps");

describe("Reflector", () => {
  let server: KubeApiServer;
  let api: FaultyApi;
  let direct: ResourceClient<ConfigMap>;
  let namespace: string;
  let cache: ObjectCache<ConfigMap>;
  let changes: string[];
  let drift: number;
  let reflectors: Reflector<ConfigMap>[];

  before(async function () {
    this.timeout(60_000);
    server = await sharedKubeApiServer();
    direct = new ResourceClient(server.admin, configMaps);
  });

  beforeEach(async () => {
    [api, namespace] = await Promise.all([FaultyApi.start(server), server.createNamespace()]);
    cache = new ObjectCache();
    changes = [];
    drift = 0;
    reflectors = [];
    cache.subscribe((change) => changes.push(describeChange(change)));
  });

  afterEach(async () => {
    await Promise.all(reflectors.map((reflector) => reflector.stop()));
    await api.stop();
  });

  function aReflector(options: Partial<ReflectorOptions<ConfigMap, never>> = {}): Reflector<ConfigMap> {
    // One attempt per call, so that the tests see the retries of the reflector and not those of the
    // transport.
    const reflector = new Reflector({
      client: new ResourceClient(api.transport({ maxAttempts: 1 }), configMaps),
      cache,
      namespace,
      backOff: { baseMs: 20, maxMs: 200 },
      metrics: {
        listed: () => undefined,
        watchEnded: () => undefined,
        rejected: () => undefined,
        drifted: (objects) => (drift += objects),
      },
      ...options,
    });
    reflectors.push(reflector);
    return reflector;
  }

  async function started(
    options: Partial<ReflectorOptions<ConfigMap, never>> = {},
  ): Promise<Reflector<ConfigMap>> {
    const reflector = aReflector(options);
    reflector.start();
    await reflector.waitForSync(AbortSignal.timeout(20_000));
    await watching();
    return reflector;
  }

  const watching = (): Promise<unknown> =>
    eventually(() => api.openWatches === 1, { what: "one open watch" });
  const create = (name: string, value = "1"): Promise<unknown> =>
    direct.create({ metadata: { name, namespace }, data: { value } });
  const update = (name: string, value: string): Promise<unknown> =>
    direct.mergePatch({ name, namespace }, { data: { value } });
  const seen = (change: string): Promise<unknown> =>
    eventually(() => changes.includes(change), { what: `"${change}" among ${String(changes)}` });
  const names = (): string[] =>
    cache
      .list()
      .map(({ metadata }) => metadata.name)
      .sort();

  it("lists, then follows every change", async () => {
    await create("before");
    await started();
    expect(names()).to.deep.equal(["before"]);
    await create("after");
    await seen("added after 1");
    await update("after", "2");
    await seen("updated after 2");
    await direct.delete({ name: "after", namespace });
    await seen("deleted after 2");
  });

  it("requests bookmarks and a random timeout, and follows selectors", async () => {
    await started({ labelSelector: "app=x", fieldSelector: "metadata.name!=y" });
    const { query } = api.requests.find(isWatch)!;
    expect(query.get("allowWatchBookmarks")).to.equal("true");
    expect(Number(query.get("timeoutSeconds"))).to.be.within(15, 25);
    expect([query.get("labelSelector"), query.get("fieldSelector")]).to.deep.equal([
      "app=x",
      "metadata.name!=y",
    ]);
    expect(api.requests.find(isList)!.query.get("resourceVersion")).to.equal("0");
  });

  for (const status of [429, 500, 503]) {
    it(`recovers from a first list with status ${status}`, async () => {
      await create("a");
      api.respondOnce(isList, status);
      await started();
      expect(names()).to.deep.equal(["a"]);
    });

    it(`recovers from a watch with status ${status}`, async () => {
      api.respondOnce(isWatch, status);
      await started();
      await create("a");
      await seen("added a 1");
    });
  }

  it("waits for the time in Retry-After", async () => {
    api.respondOnce(isWatch, 429, {}, { "retry-after": "1" });
    const startedMs = performance.now();
    await started();
    expect(performance.now() - startedMs).to.be.greaterThan(1000);
  });

  it("resumes from the last version without a list when the stream is interrupted or closed", async () => {
    await started();
    await create("a");
    await seen("added a 1");
    for (const [end, name] of [
      ["cutWatches", "b"],
      ["closeWatches", "c"],
    ] as const) {
      api[end]();
      await create(name);
      await seen(`added ${name} 1`);
      await watching();
    }
    expect(api.requests.filter(isList)).to.have.length(1);
    expect(changes).to.deep.equal(["added a 1", "added b 1", "added c 1"]);
  });

  it("resumes from the last version after an ERROR 500 in the stream", async () => {
    await started();
    api.sayToWatches(statusEvent(500, "InternalError"));
    await create("a");
    await seen("added a 1");
    expect(api.requests.filter(isList)).to.have.length(1);
  });

  it("lists again after an ERROR 410 in the stream, and reports what was deleted in the gap", async () => {
    await create("gone");
    await started();
    const held = api.holdOnce(isList);
    api.sayToWatches(statusEvent(410, "Expired"));
    await held.arrived;
    await direct.delete({ name: "gone", namespace });
    await create("new");
    held.release();
    await seen("deleted gone 1");
    await seen("added new 1");
  });

  it("lists again after a watch with status 410, with a backoff", async () => {
    for (let i = 0; i < 3; i++) api.respondOnce(isWatch, 410, { reason: "Expired" });
    await started();
    await create("a");
    await seen("added a 1");
    expect(api.requests.filter(isList)).to.have.length(4);
  });

  it("lists again when a watch from its version is rejected or invalid", async () => {
    api.respondOnce(isWatch, 400, { reason: "BadRequest" });
    await started();
    expect(api.requests.filter(isList)).to.have.length(2);
    for (let i = 0; i < 3; i++) api.sayOnce(isWatch, "what?\n");
    api.closeWatches();
    await create("a");
    await seen("added a 1");
    expect(api.requests.filter(isList)).to.have.length(3);
  });

  it("reports an object that was recreated in a gap as deleted and added", async () => {
    await create("a", "old");
    await started();
    const held = api.holdOnce(isList);
    api.sayToWatches(statusEvent(410, "Expired"));
    await held.arrived;
    await direct.delete({ name: "a", namespace });
    await create("a", "new");
    held.release();
    await seen("added a new");
    expect(changes.slice(-2)).to.deep.equal(["deleted a old", "added a new"]);
  });

  it("resumes a watch that broke inside a line without missing changes", async () => {
    await started();
    api.sayToWatches('{"type":"ADDED","object":{"metad');
    api.cutWatches();
    await create("a");
    await seen("added a 1");
    await watching();
    api.sayToWatches('{"type":"ADDED","object":{"metad\n');
    await create("b");
    await seen("added b 1");
  });

  it("does not go back in time when the stream repeats an older version", async () => {
    await started();
    await create("a", "1");
    await seen("added a 1");
    const old = cache.get(`${namespace}/a`);
    await update("a", "2");
    await seen("updated a 2");
    api.sayToWatches(`${JSON.stringify({ type: "MODIFIED", object: old })}\n`);
    await update("a", "3");
    await seen("updated a 3");
    expect(changes).to.deep.equal(["added a 1", "updated a 2", "updated a 3"]);
  });

  it("replaces a silent watch", async () => {
    api.silenceOnce(isWatch);
    await started({ idleDeadlineMs: 300 });
    await create("a");
    await seen("added a 1");
  });

  it("detects a silently dead connection within the idle deadline without missing changes", async () => {
    const relay = await TcpRelay.start(api.url);
    try {
      const client = new ResourceClient(
        api.transport({ maxAttempts: 1 }, `http://${relay.host}`),
        configMaps,
      );
      await started({ client, watchSeconds: { min: 1, max: 2 }, idleDeadlineMs: 3_000 });
      relay.stall();
      await create("a");
      await eventually(() => changes.includes("added a 1"), {
        timeoutMs: 6_000,
        what: "what the dead watch did not tell",
      });
    } finally {
      await relay.stop();
    }
  });

  it("opens no watch when it is stopped during the list", async () => {
    await create("a");
    const held = api.holdOnce(isList);
    const reflector = aReflector();
    reflector.start();
    await held.arrived;
    await reflector.stop();
    held.release();
    const again = aReflector({ cache: new ObjectCache() });
    again.start();
    await again.waitForSync();
    await watching();
    expect(api.requests.filter(isWatch), "only the other reflector's").to.have.length(1);
    expect(changes).to.deep.equal([]);
  });

  it("follows an object out of its selection and back", async () => {
    await create("a");
    await started({ labelSelector: "app=x" });
    const label = (app: string): Promise<unknown> =>
      direct.mergePatch({ name: "a", namespace }, { metadata: { labels: { app } } });
    await label("x");
    await seen("added a 1");
    await label("y");
    await seen("deleted a 1");
    await label("x");
    await eventually(() => changes.length === 3);
    expect(changes.at(-1)).to.equal("added a 1");
  });

  it("keeps one watch when it is started twice, and none after a stop", async () => {
    const reflector = await started();
    reflector.start();
    await create("a");
    await seen("added a 1");
    expect(api.requests.filter(isWatch)).to.have.length(1);
    await reflector.stop();
    await eventually(() => api.openWatches === 0);
    await create("b");
    reflector.start();
    await seen("added b 1");
  });

  it("finds and counts changes that the watch missed by listing again", async () => {
    const clock = new FakeClock();
    await started({ clock });
    api.loseEvents(true);
    await create("lost");
    await eventually(() => api.lostBytes > 0);
    api.loseEvents(false);
    await create("a");
    await seen("added a 1");
    expect(names()).to.deep.equal(["a"]);
    await clock.advance(660_000);
    await seen("added lost 1");
    expect(drift).to.equal(1);
  });

  it("starts over immediately when the cluster's storage was restored from a backup", async () => {
    const clock = new FakeClock();
    await create("a");
    await started({ clock });
    api.respondOnce(isLookAtOne, 504, tooLarge);
    api.sayToWatches(statusEvent(504, tooLarge.reason, tooLarge.message));
    await eventually(
      async () => {
        await clock.advance(20);
        return api.requests.some(isLookAtOne);
      },
      { what: "a look at how far the storage has come" },
    );
    await seen("deleted a 1");
    await eventually(() => changes.filter((change) => change === "added a 1").length === 2);
  });

  it("resumes when a new server lags behind for a moment", async () => {
    await create("a");
    await started();
    api.respondOnce(isLookAtOne, 504, tooLarge);
    api.cutWatches();
    await eventually(() => api.requests.filter(isLookAtOne).length === 2, {
      what: "two looks at how far the storage has come",
    });
    await create("b");
    await seen("added b 1");
    expect(changes).to.deep.equal(["added a 1", "added b 1"]);
    expect(api.requests.filter(isList)).to.have.length(1);
  });

  it("reads long lists in pages, and starts over when a page has expired", async function () {
    this.timeout(30_000);
    const all = Array.from({ length: 520 }, (_, i) => `cm-${i}`);
    for (let i = 0; i < all.length; i += 40)
      await Promise.all(all.slice(i, i + 40).map((name) => create(name)));
    api.respondOnce((request) => isList(request) && request.query.has("continue"), 410, {
      reason: "Expired",
    });
    // A read at "0" is served from memory in one piece. A read without a version is paged.
    api.respondOnce(isList, 410, { reason: "Expired" });
    await started();
    expect(cache.size).to.equal(520);
    expect(api.requests.filter(isList).map(({ query }) => query.has("continue"))).to.deep.equal([
      false,
      false,
      true,
      false,
      true,
    ]);
  });
});

function describeChange({ type, object }: Change<ConfigMap>): string {
  return `${type} ${object.metadata.name} ${object.data?.value ?? ""}`;
}

function statusEvent(code: number, reason: string, message = reason): string {
  const object = { kind: "Status", apiVersion: "v1", metadata: {}, status: "Failure", code, reason, message };
  return `${JSON.stringify({ type: "ERROR", object })}\n`;
}
