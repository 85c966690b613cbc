import { expect } from "chai";
import {
  buildEvent,
  buildSeries,
  subjectOf,
  type EventSeries,
  TokenBuckets,
} from "#kube/controllers/eventRecorder.ts";
import { aStored } from "#test/factories/stored.ts";
import { FakeClock } from "#test/support/clocks/fakeClock.ts";

const by = { controller: "joypod.dev/test", instance: "pod-1" };
const time = new Date("2030-01-01T00:00:00.123Z");
const aSeries = (part: Partial<EventSeries> = {}): EventSeries => ({
  regarding: aStored({ name: "a", resourceVersion: "7" }),
  event: { type: "Normal", reason: "Downloaded", action: "Download", note: "Done." },
  count: 1,
  firstSeen: time,
  lastSeen: time,
  lastSeenMs: 0,
  ...part,
});

describe("subjectOf", () => {
  it("keeps only the name, kind and version of an object", () => {
    const {
      apiVersion,
      kind,
      metadata: { name, namespace, uid, resourceVersion },
    } = aStored({ name: "a" });
    const object = {
      ...aStored({ name: "a" }),
      spec: { large: "x".repeat(1000) },
      status: { conditions: [] },
    };
    expect(subjectOf(object)).to.deep.equal({
      apiVersion,
      kind,
      metadata: { name, namespace, uid, resourceVersion },
    });
  });
});

describe("buildEvent", () => {
  it("describes the event and its object in the object's namespace", () => {
    const event = buildEvent(aSeries(), by);
    expect(event).to.deep.include({
      eventTime: "2030-01-01T00:00:00.123000Z",
      reportingController: "joypod.dev/test",
      reportingInstance: "pod-1",
      type: "Normal",
      reason: "Downloaded",
      action: "Download",
      note: "Done.",
      regarding: {
        apiVersion: "v1",
        kind: "ConfigMap",
        name: "a",
        namespace: "default",
        uid: "uid-of-a",
        resourceVersion: "7",
      },
    });
    expect(event.metadata.namespace).to.equal("default");
    expect(event).not.to.have.property("series");
  });

  it("gives each event a unique valid name, however long the object's name is", () => {
    const long = aSeries({ regarding: aStored({ name: "n".repeat(253) }) });
    const names = new Set([buildEvent(long, by).metadata.name, buildEvent(long, by).metadata.name]);
    expect(names.size).to.equal(2);
    for (const name of names)
      expect(name)
        .to.match(/^n+\.[0-9a-f]+$/)
        .and.have.length.at.most(253);
  });

  it("truncates a long note between characters", () => {
    const { event } = aSeries();
    const { note = "" } = buildEvent(aSeries({ event: { ...event, note: "€".repeat(1000) } }), by);
    expect(Buffer.byteLength(note)).to.be.at.most(1024);
    expect(note).to.match(/^€+…$/);
  });

  it("counts repetitions from two", () => {
    expect(buildSeries(aSeries({ count: 5 }))).to.deep.equal({
      count: 5,
      lastObservedTime: "2030-01-01T00:00:00.123000Z",
    });
    expect(buildEvent(aSeries({ count: 3 }), by).series).to.include({ count: 3 });
  });
});

describe("TokenBuckets", () => {
  it("allows a burst and then the refill rate per key", async () => {
    const clock = new FakeClock();
    const buckets = new TokenBuckets({ clock, size: 2, refillMs: 1000, maxBuckets: 10 });
    expect(["a", "a", "a", "b"].map((key) => buckets.take(key))).to.deep.equal([true, true, false, true]);
    await clock.advance(999);
    expect(buckets.take("a")).to.equal(false);
    await clock.advance(1);
    expect([buckets.take("a"), buckets.take("a")]).to.deep.equal([true, false]);
  });

  it("removes the least recently used bucket", () => {
    const buckets = new TokenBuckets({ clock: new FakeClock(), size: 1, refillMs: 1000, maxBuckets: 2 });
    for (const key of ["a", "b", "c"]) buckets.take(key);
    expect([buckets.take("c"), buckets.take("a")]).to.deep.equal([false, true]);
  });
});
