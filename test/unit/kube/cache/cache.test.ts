import { expect } from "chai";
import { type KubeObject, keyOf, type Stored } from "#kube/api/object.ts";
import { type Change, ObjectCache } from "#kube/cache/cache.ts";
import { aStored } from "#test/factories/stored.ts";

interface Seen {
  type: Change<KubeObject>["type"];
  key: string;
  uid: string;
  version: string;
}

describe("ObjectCache", () => {
  let cache: ObjectCache<KubeObject, "node">;
  let changes: Seen[];

  beforeEach(() => {
    cache = new ObjectCache({ indexes: { node: ({ metadata }) => metadata.labels?.node?.split("+") ?? [] } });
    changes = [];
    cache.subscribe(({ type, object }) =>
      changes.push({
        type,
        key: keyOf(object),
        uid: object.metadata.uid,
        version: object.metadata.resourceVersion,
      }),
    );
  });

  const types = (): string[] => changes.map(({ type, version }) => `${type} ${version}`);
  const versionOf = (object: Stored<KubeObject> | undefined): string | undefined =>
    object?.metadata.resourceVersion;

  it("keeps the newest version and notifies of each change once", () => {
    expect(cache.upsert(aStored({ resourceVersion: "5" }))).to.equal("added");
    expect(cache.upsert(aStored({ resourceVersion: "5" }))).to.equal(undefined);
    expect(cache.upsert(aStored({ resourceVersion: "7" }))).to.equal("updated");
    expect(cache.remove(aStored({ resourceVersion: "8" }))).to.equal(true);
    expect(types()).to.deep.equal(["added 5", "updated 7", "deleted 8"]);
    expect(cache.size).to.equal(0);
  });

  it("never returns to an older version, comparing versions numerically", () => {
    cache.upsert(aStored({ resourceVersion: "10" }));
    expect(cache.upsert(aStored({ resourceVersion: "9" }))).to.equal(undefined);
    expect(cache.remove(aStored({ resourceVersion: "9" }))).to.equal(false);
    expect(versionOf(cache.get("default/a"))).to.equal("10");
  });

  it("accepts non-numeric versions in order of arrival", () => {
    cache.upsert(aStored({ resourceVersion: "x9" }));
    expect(cache.upsert(aStored({ resourceVersion: "x1" }))).to.equal("updated");
  });

  it("reports a recreated object as a deletion and an addition", () => {
    cache.upsert(aStored({ uid: "one", resourceVersion: "5" }));
    cache.upsert(aStored({ uid: "two", resourceVersion: "9" }));
    expect(changes.map(({ type, uid }) => `${type} ${uid}`)).to.deep.equal([
      "added one",
      "deleted one",
      "added two",
    ]);
  });

  it("ignores the late deletion of a former object of the same name", () => {
    cache.upsert(aStored({ uid: "two", resourceVersion: "9" }));
    expect(cache.remove(aStored({ uid: "one", resourceVersion: "7" }))).to.equal(false);
    expect(cache.size).to.equal(1);
  });

  it("does not restore a deleted object from a late write response, but accepts a recreated one", () => {
    cache.upsert(aStored({ uid: "one", resourceVersion: "5" }));
    cache.remove(aStored({ uid: "one", resourceVersion: "8" }));
    expect(cache.upsert(aStored({ uid: "one", resourceVersion: "6" }))).to.equal(undefined);
    expect(cache.upsert(aStored({ uid: "two", resourceVersion: "9" }))).to.equal("added");
  });

  for (const [by, forget] of [
    ["a list no longer has it", () => undefined],
    ["the watch told of it, before a list", () => cache.remove(aStored({ resourceVersion: "101" }))],
  ] as const) {
    it(`does not restore an object from a late write response when it was deleted and ${by}`, () => {
      cache.upsert(aStored({ resourceVersion: "99" }));
      forget();
      cache.replace([], "105");
      expect(cache.upsert(aStored({ resourceVersion: "100" }))).to.equal(undefined);
      expect(
        cache.upsert(aStored({ resourceVersion: "105" })),
        "the response to the write that made it leave the selection",
      ).to.equal(undefined);
      expect(
        cache.upsert(aStored({ resourceVersion: "106" })),
        "created anew, or back in the selection",
      ).to.equal("added");
    });
  }

  it("accepts an unknown object with a non-numeric version", () => {
    cache.replace([], "x9");
    expect(cache.upsert(aStored({ resourceVersion: "x1" }))).to.equal("added");
  });

  it("accepts an object that leaves the selection and returns", () => {
    cache.upsert(aStored({ resourceVersion: "5" }));
    cache.remove(aStored({ resourceVersion: "8" }));
    expect(
      cache.upsert(aStored({ resourceVersion: "8" })),
      "the response to the write that made it leave",
    ).to.equal(undefined);
    expect(cache.upsert(aStored({ resourceVersion: "9" }))).to.equal("added");
  });

  it("prefers a list to an earlier deletion", () => {
    cache.remove(aStored({ resourceVersion: "8" }));
    expect(cache.replace([aStored({ resourceVersion: "5" })], "8")).to.deep.equal({
      added: 1,
      updated: 0,
      deleted: 0,
    });
  });

  it("finds objects by index before and after changes", () => {
    cache.upsert(aStored({ name: "a", resourceVersion: "1", labels: { node: "x+y" } }));
    cache.upsert(aStored({ name: "b", resourceVersion: "2", labels: { node: "y" } }));
    const on = (node: string): string[] => cache.byIndex("node", node).map(({ metadata }) => metadata.name);
    expect([on("x"), on("y"), on("z")]).to.deep.equal([["a"], ["a", "b"], []]);
    cache.upsert(aStored({ name: "a", resourceVersion: "3", labels: { node: "z" } }));
    cache.remove(aStored({ name: "b", resourceVersion: "4" }));
    expect([on("x"), on("y"), on("z")]).to.deep.equal([[], [], ["a"]]);
  });

  it("replaces its content with a full list and counts differences", () => {
    for (const name of ["kept", "changed", "gone"]) cache.upsert(aStored({ name, resourceVersion: "5" }));
    const drift = cache.replace(
      [
        aStored({ name: "kept", resourceVersion: "5" }),
        aStored({ name: "changed", resourceVersion: "8" }),
        aStored({ name: "new", resourceVersion: "9" }),
      ],
      "9",
    );
    expect(drift).to.deep.equal({ added: 1, updated: 1, deleted: 1 });
    expect(
      cache
        .list()
        .map(({ metadata }) => metadata.name)
        .sort(),
    ).to.deep.equal(["changed", "kept", "new"]);
  });

  it("keeps objects that are newer than a list", () => {
    cache.upsert(aStored({ name: "fresh", resourceVersion: "12" }));
    expect(cache.replace([], "10")).to.deep.equal({ added: 0, updated: 0, deleted: 0 });
    expect(cache.size).to.equal(1);
  });

  it("keeps a newer version of an object than an earlier list has", () => {
    cache.upsert(aStored({ resourceVersion: "12" }));
    expect(cache.replace([aStored({ resourceVersion: "8" })], "10")).to.deep.equal({
      added: 0,
      updated: 0,
      deleted: 0,
    });
    expect(versionOf(cache.get("default/a"))).to.equal("12");
  });

  it("returns to the version of a later list when the cluster has lost the known version", () => {
    cache.upsert(aStored({ name: "a", resourceVersion: "1500", labels: { node: "x" } }));
    cache.upsert(aStored({ name: "b", uid: "new", resourceVersion: "1600" }));
    const drift = cache.replace(
      [
        aStored({ name: "a", resourceVersion: "1000", labels: { node: "y" } }),
        aStored({ name: "b", uid: "old", resourceVersion: "900" }),
      ],
      "1000001000",
    );
    expect(drift).to.deep.equal({ added: 1, updated: 1, deleted: 0 });
    expect(types().slice(2)).to.deep.equal(["updated 1000", "deleted 1600", "added 900"]);
    expect([cache.byIndex("node", "x"), cache.byIndex("node", "y").map(versionOf)]).to.deep.equal([
      [],
      ["1000"],
    ]);
    expect(
      cache.upsert(aStored({ name: "a", resourceVersion: "1000001001" })),
      "the object's next write",
    ).to.equal("updated");
  });

  it("accepts older versions after it was cleared", () => {
    cache.upsert(aStored({ resourceVersion: "500" }));
    cache.replace([aStored({ resourceVersion: "500" })], "600");
    cache.clear();
    expect(cache.upsert(aStored({ resourceVersion: "3" }))).to.equal("added");
    expect(types()).to.deep.equal(["added 500", "deleted 500", "added 3"]);
  });

  it("calls other handlers when one throws, and none that unsubscribed", () => {
    const seen: string[] = [];
    cache.subscribe(() => {
      throw new Error("handler trouble");
    });
    const leave = cache.subscribe(({ type }) => seen.push(type));
    cache.upsert(aStored({ resourceVersion: "1" }));
    leave();
    cache.upsert(aStored({ resourceVersion: "2" }));
    expect(seen).to.deep.equal(["added"]);
    expect(types()).to.deep.equal(["added 1", "updated 2"]);
  });
});
