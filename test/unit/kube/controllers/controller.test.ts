import { expect } from "chai";
import { Controller, type ControllerOptions } from "#kube/controllers/controller.ts";
import { silentLogger } from "#runtime/logger.ts";
import { type KubeObject, ownedBy } from "#kube/api/object.ts";
import { type WatchedCache, fromCache } from "#kube/cache/source.ts";
import { ObjectCache } from "#kube/cache/cache.ts";
import { aStored } from "#test/factories/stored.ts";
import { FakeClock, settle } from "#test/support/clocks/fakeClock.ts";
import { toOwner } from "#test/support/cluster/toOwner.ts";

describe("Controller", () => {
  let clock: FakeClock;
  let cache: {
    cache: ObjectCache<KubeObject>;
    synced: PromiseWithResolvers<undefined>;
  } & WatchedCache<KubeObject>;
  let controllers: Controller[];
  let seen: string[];

  beforeEach(() => {
    clock = new FakeClock();
    const synced = Promise.withResolvers<undefined>();
    cache = { cache: new ObjectCache(), synced, waitForSync: () => synced.promise };
    controllers = [];
    seen = [];
  });

  afterEach(async () => {
    await Promise.all(controllers.map((controller) => controller.stop()));
    expect(clock.pendingTimers, "timers left behind").to.equal(0);
  });

  async function started(options: Partial<ControllerOptions>): Promise<Controller> {
    const controller = new Controller({
      name: "test",
      sources: [fromCache(cache)],
      logger: silentLogger,
      clock,
      random: () => 1,
      reconcile: (key) => Promise.resolve(void seen.push(key)),
      ...options,
    });
    controllers.push(controller);
    cache.synced.resolve(undefined);
    await controller.start();
    await settle();
    return controller;
  }

  it("waits for its caches, then reconciles existing and changed objects", async () => {
    cache.cache.upsert(aStored({ name: "a" }));
    const controller = new Controller({
      name: "test",
      sources: [fromCache(cache)],
      logger: silentLogger,
      clock,
      reconcile: (key) => Promise.resolve(void seen.push(key)),
    });
    controllers.push(controller);
    const start = controller.start();
    await settle();
    expect(seen).to.deep.equal([]);
    cache.synced.resolve(undefined);
    await start;
    await settle();
    cache.cache.upsert(aStored({ name: "b" }));
    await settle();
    expect(seen).to.deep.equal(["default/a", "default/b"]);
  });

  it("maps owned objects to their current and former owners", async () => {
    const owners = ["x", "y"].map((name) => aStored({ name }));
    const [x, y] = owners.map((owner) => ownedBy({ ...owner, kind: "Game" }));
    await started({ sources: [fromCache(cache, { keys: toOwner("Game") })] });
    cache.cache.upsert(aStored({ name: "pod", resourceVersion: "1", ownerReferences: [x!] }));
    cache.cache.upsert(aStored({ name: "stranger", ownerReferences: [{ ...x!, kind: "Other" }] }));
    await settle();
    expect(seen).to.deep.equal(["default/x"]);
    cache.cache.upsert(aStored({ name: "pod", resourceVersion: "2", ownerReferences: [y!] }));
    await settle();
    expect(seen.slice(1).sort()).to.deep.equal(["default/x", "default/y"]);
  });

  it("retries a failed reconcile after a backoff and continues with other keys", async () => {
    let failures = 0;
    await started({
      reconcile: (key) => {
        seen.push(key);
        if (key !== "default/bad" || failures === 2) return Promise.resolve();
        failures++;
        if (failures === 1) throw new Error("before the first await");
        return Promise.reject(new Error("later"));
      },
    });
    cache.cache.upsert(aStored({ name: "bad" }));
    cache.cache.upsert(aStored({ name: "good" }));
    await settle();
    expect(seen).to.deep.equal(["default/bad", "default/good"]);
    await clock.advance(5);
    await clock.advance(10);
    expect(seen.filter((key) => key === "default/bad")).to.have.length(3);
    await clock.advance(60_000);
    expect(seen).to.have.length(4);
  });

  it("reconciles again after the requested delay", async () => {
    await started({
      reconcile: (key) => {
        seen.push(key);
        return Promise.resolve({ requeueAfterMs: 1000 });
      },
    });
    cache.cache.upsert(aStored());
    await clock.advance(2500);
    expect(seen).to.have.length(3);
  });

  it("reconciles several keys concurrently, but never the same key twice at once", async () => {
    const release = Promise.withResolvers<undefined>();
    let together = 0;
    let most = 0;
    await started({
      workers: 3,
      reconcile: async (key) => {
        seen.push(key);
        most = Math.max(most, ++together);
        await release.promise;
        together--;
      },
    });
    for (const name of ["a", "b", "c", "d"]) cache.cache.upsert(aStored({ name, resourceVersion: "1" }));
    cache.cache.upsert(aStored({ name: "a", resourceVersion: "2" }));
    await settle();
    expect([most, seen.filter((key) => key === "default/a").length]).to.deep.equal([3, 1]);
    release.resolve(undefined);
    await settle();
    expect(seen.filter((key) => key === "default/a")).to.have.length(2);
  });

  it("aborts a reconcile that times out, and does not run a second one concurrently", async () => {
    const stubborn = Promise.withResolvers<undefined>();
    const reasons: unknown[] = [];
    await started({
      timeoutMs: 1000,
      reconcile: async (key, { signal }) => {
        seen.push(key);
        signal.addEventListener("abort", () => reasons.push(signal.reason));
        if (key === "default/stuck") await stubborn.promise;
      },
    });
    cache.cache.upsert(aStored({ name: "stuck" }));
    cache.cache.upsert(aStored({ name: "other" }));
    await clock.advance(1000);
    expect(String(reasons[0])).to.equal(
      "DeadlineExceeded: Reconciling default/stuck took longer than 1000 ms.",
    );
    expect(seen, "the worker goes on").to.deep.equal(["default/stuck", "default/other"]);
    await clock.advance(5000);
    expect(seen, "the key is still taken").to.have.length(2);
    stubborn.resolve(undefined);
    await settle();
    expect(seen.at(-1)).to.equal("default/stuck");
  });

  it("reconciles all keys periodically", async () => {
    await started({ resyncIntervalMs: 60_000 });
    cache.cache.upsert(aStored());
    await clock.advance(120_000);
    expect(seen).to.have.length(3);
  });

  it("loses no work when its queue overflows", async () => {
    const gate = Promise.withResolvers<undefined>();
    await started({
      maxKeys: 2,
      reconcile: async (key) => {
        seen.push(key);
        await gate.promise;
      },
    });
    for (const name of ["a", "b", "c", "d", "e"]) cache.cache.upsert(aStored({ name }));
    gate.resolve(undefined);
    for (let i = 0; i < 10; i++) await settle();
    expect(new Set(seen).size).to.equal(5);
  });

  it("drains reconciles when it is stopped, aborts them after the drain time, and starts none", async () => {
    const controller = await started({
      drainMs: 3000,
      reconcile: (key, { signal }) =>
        new Promise((_resolve, reject) => {
          seen.push(key);
          signal.addEventListener("abort", () => reject(signal.reason as Error));
        }),
    });
    cache.cache.upsert(aStored({ name: "a" }));
    cache.cache.upsert(aStored({ name: "b" }));
    await settle();
    let isStopped = false;
    const stopped = controller.stop().then(() => (isStopped = true));
    await clock.advance(2999);
    expect(isStopped).to.equal(false);
    await clock.advance(1);
    await stopped;
    cache.cache.upsert(aStored({ name: "c" }));
    await settle();
    expect(seen).to.deep.equal(["default/a"]);
  });
});
