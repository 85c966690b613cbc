import { expect } from "chai";
import { ObjectCache } from "#kube/cache/cache.ts";
import { type KubeObject, keyOf } from "#kube/api/object.ts";
import { fromWideChanges } from "#kube/cache/source.ts";
import { aStored } from "#test/factories/stored.ts";
import { FakeClock } from "#test/support/clocks/fakeClock.ts";

describe("fromWideChanges", () => {
  let clock: FakeClock;
  let cache: ObjectCache<KubeObject>;
  let asked: number;
  let enqueued: string[];

  beforeEach(() => {
    clock = new FakeClock();
    cache = new ObjectCache();
    asked = 0;
    enqueued = [];
  });

  const source = (when?: () => boolean) =>
    fromWideChanges(
      { cache, waitForSync: () => Promise.resolve() },
      {
        clock,
        when,
        spacingMs: 100,
        keys: () => {
          asked++;
          return cache.list().map(keyOf);
        },
      },
    );
  const add = (count: number): void => {
    for (let index = 0; index < count; index++)
      cache.upsert(aStored({ name: `object-${cache.size}`, resourceVersion: String(cache.size + 1) }));
  };

  it("handles the first change immediately and later ones together", async () => {
    source().subscribe((key) => enqueued.push(key));
    add(1);
    expect(enqueued).to.deep.equal(["default/object-0"]);
    add(1999);
    expect(asked, "keys are asked for once for all that came meanwhile").to.equal(1);
    await clock.advance(100);
    expect(asked).to.equal(2);
    expect(new Set(enqueued).size).to.equal(2000);
    await clock.advance(1000);
    expect(asked, "and not without a change").to.equal(2);
    add(1);
    expect(enqueued.at(-1)).to.equal("default/object-2000");
  });

  it("ignores starts and resyncs", () => {
    add(2000);
    expect(source().keys()).to.be.empty;
    expect(asked).to.equal(0);
  });

  it("ignores irrelevant changes, and ends with its subscription", async () => {
    source(() => false).subscribe((key) => enqueued.push(key));
    const end = source().subscribe((key) => enqueued.push(key));
    add(2);
    expect(asked).to.equal(1);
    end();
    await clock.advance(1000);
    expect(asked).to.equal(1);
    expect(clock.pendingTimers).to.equal(0);
  });
});
