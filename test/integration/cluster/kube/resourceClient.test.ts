import { expect } from "chai";
import { configMaps, pods } from "#kube/api/builtin.ts";
import { setCondition } from "#kube/api/conditions.ts";
import {
  isAlreadyExists,
  isConflict,
  isForbidden,
  isGone,
  isInvalid,
  isNotFound,
  KubeError,
} from "#kube/api/errors.ts";
import { addFinalizer, hasFinalizer, isDeleting, removeFinalizer } from "#kube/controllers/finalizers.ts";
import type { Stored } from "#kube/api/object.ts";
import { Reflector } from "#kube/cache/reflector.ts";
import { ResourceClient } from "#kube/client/resourceClient.ts";
import { ObjectCache } from "#kube/cache/cache.ts";
import { decodeWatchLine } from "#kube/client/watchEvent.ts";
import { eventually } from "#test/support/clocks/eventually.ts";
import { type KubeApiServer, sharedKubeApiServer } from "#test/support/cluster/kubeApiServer.ts";
import { type Widget, widgetDefinition, widgets } from "#test/support/session/widgets.ts";

describe("ResourceClient", () => {
  let server: KubeApiServer;
  let client: ResourceClient<Widget>;
  let namespace: string;
  let count = 0;

  before(async function () {
    this.timeout(60_000);
    server = await sharedKubeApiServer();
    await server.applyCustomResources(widgetDefinition);
    client = new ResourceClient(server.admin, widgets);
    namespace = await server.createNamespace();
  });

  async function aWidget(spec: Widget["spec"] = { size: 1 }): Promise<Stored<Widget>> {
    return client.create({ metadata: { name: `widget-${++count}`, namespace }, spec });
  }

  it("creates, reads, replaces and deletes, and keeps unknown fields", async () => {
    const spec = { size: 2, brandNew: { deep: ["x"] } };
    const created = await aWidget(spec);
    expect(created).to.deep.include({ apiVersion: "kube.test/v1", kind: "Widget", spec });
    expect(created.metadata.creationTimestamp).to.be.a("string");
    const replaced = await client.replace({ ...created, spec: { ...created.spec, size: 3 } });
    expect((await client.get(created.metadata)).spec).to.deep.equal({ ...spec, size: 3 });
    await client.delete(replaced.metadata);
    expect(await client.find(created.metadata)).to.equal(undefined);
  });

  it("throws errors that the predicates distinguish", async () => {
    const widget = await aWidget();
    const taken = (): Promise<unknown> =>
      client.create({ metadata: { name: widget.metadata.name, namespace }, spec: { size: 1 } });
    const stale = (): Promise<unknown> =>
      client.replace({ ...widget, metadata: { ...widget.metadata, resourceVersion: "1" } });
    const failures: [string, (error: unknown) => boolean, () => Promise<unknown>][] = [
      ["missing", isNotFound, () => client.get({ name: "nobody", namespace })],
      ["name taken", isAlreadyExists, taken],
      ["name taken is no conflict", (error) => !isConflict(error), taken],
      ["invalid", isInvalid, () => aWidget({ size: 0 })],
      ["stale", isConflict, stale],
      [
        "other uid",
        isConflict,
        () => client.delete(widget.metadata, { uid: "00000000-0000-0000-0000-000000000000" }),
      ],
      [
        "failed test",
        isInvalid,
        () => client.jsonPatch(widget.metadata, [{ op: "test", path: "/spec/size", value: 9 }]),
      ],
    ];
    for (const [what, is, attempt] of failures) {
      const error = await failureOf(attempt());
      expect(is(error), `${what}: ${String(error)}`).to.equal(true);
    }
  });

  it("lists items of built-in kinds with their kind, and selects by label and by selectable field", async () => {
    await new ResourceClient(server.admin, configMaps).create({
      metadata: { name: "settings", namespace, labels: { app: "x" } },
    });
    const { items } = await new ResourceClient(server.admin, configMaps).list({
      namespace,
      labelSelector: "app=x",
    });
    expect(items.map(({ apiVersion, kind, metadata }) => [apiVersion, kind, metadata.name])).to.deep.equal([
      ["v1", "ConfigMap", "settings"],
    ]);
    const red = await aWidget({ size: 1, colour: "red" });
    await aWidget({ size: 1, colour: "blue" });
    await client.mergePatchStatus(red.metadata, { status: { phase: "Done" } });
    for (const fieldSelector of ["spec.colour=red", "status.phase=Done"]) {
      const found = await client.listAll({ namespace, fieldSelector });
      expect(
        found.items.map(({ metadata }) => metadata.name),
        fieldSelector,
      ).to.deep.equal([red.metadata.name]);
    }
  });

  it("removes objects that leave a field selection from the cache", async () => {
    const cache = new ObjectCache<Widget>();
    const reflector = new Reflector({ client, cache, namespace, fieldSelector: "status.phase=Running" });
    reflector.start();
    try {
      await reflector.waitForSync(AbortSignal.timeout(20_000));
      const widget = await aWidget();
      await client.mergePatchStatus(widget.metadata, { status: { phase: "Running" } });
      await eventually(() => cache.size === 1);
      await client.mergePatchStatus(widget.metadata, { status: { phase: "Stopped" } });
      await eventually(() => cache.size === 0);
    } finally {
      await reflector.stop();
    }
  });

  it("merges patches: null removes a field, a stale version is refused, and status is separate from spec", async () => {
    const widget = await aWidget({ size: 1, colour: "red" });
    const patched = await client.mergePatch(widget.metadata, { spec: { colour: null, size: 4 } });
    expect(patched.spec).to.deep.equal({ size: 4 });
    const stale = client.mergePatch(widget.metadata, {
      metadata: { resourceVersion: widget.metadata.resourceVersion },
      spec: { size: 5 },
    });
    expect(isConflict(await failureOf(stale))).to.equal(true);
    const status = await client.mergePatchStatus(widget.metadata, {
      spec: { size: 9 },
      status: { phase: "Running" },
    });
    expect([status.spec.size, status.status?.phase]).to.deep.equal([4, "Running"]);
    expect(
      (await client.jsonPatch(widget.metadata, [{ op: "replace", path: "/spec/size", value: 6 }])).spec.size,
    ).to.equal(6);
  });

  it("applies per manager: each removes the fields it gave up and keeps those of others", async () => {
    const metadata = { name: "applied", namespace };
    await client.apply({ metadata, spec: { size: 1, colour: "red" } }, { fieldManager: "one" });
    const status = (type: string): Parameters<typeof client.applyStatus>[0] => ({
      metadata,
      status: {
        conditions: setCondition(
          undefined,
          { type, status: "True", reason: "Because", message: "" },
          new Date(),
        ),
      },
    });
    await client.applyStatus(status("Ready"), { fieldManager: "one" });
    const both = await client.applyStatus(status("Stored"), { fieldManager: "two" });
    expect(both.status?.conditions?.map(({ type }) => type)).to.deep.equal(["Ready", "Stored"]);
    expect((await client.apply({ metadata, spec: { size: 1 } }, { fieldManager: "one" })).spec).to.deep.equal(
      { size: 1 },
    );
    const polite = client.apply({ metadata, spec: { size: 2 } }, { fieldManager: "two", force: false });
    expect(isConflict(await failureOf(polite))).to.equal(true);
    expect((await client.apply({ metadata, spec: { size: 2 } }, { fieldManager: "two" })).spec.size).to.equal(
      2,
    );
  });

  it("throws Gone for an expired version", async () => {
    for (let i = 0; i < 3; i++) await aWidget();
    const watch = async (): Promise<string | undefined> => {
      const lines = client.watch({
        namespace,
        resourceVersion: "1",
        timeoutSeconds: 5,
        idleDeadlineMs: 5000,
      });
      for await (const line of lines) return line;
      return undefined;
    };
    const line = await watch();
    const error = await failureOf(Promise.resolve().then(() => decodeWatchLine(widgets, line ?? "")));
    expect(isGone(error), String(error)).to.equal(true);
  });

  it("has only its user's permissions", async () => {
    const { transport } = await server.asUser(
      "reader",
      [{ apiGroups: ["kube.test"], resources: ["widgets"], verbs: ["list"] }],
      namespace,
    );
    const limited = new ResourceClient(transport, widgets);
    await limited.list({ namespace });
    expect(
      isForbidden(
        await failureOf(limited.create({ metadata: { name: "no", namespace }, spec: { size: 1 } })),
      ),
    ).to.equal(true);
    expect(isForbidden(await failureOf(limited.list({ namespace: "default" })))).to.equal(true);
    const account = await server.asServiceAccount({ namespace, name: "agent" }, [
      { apiGroups: [""], resources: ["pods"], verbs: ["get"] },
    ]);
    expect(await new ResourceClient(account.transport, pods).find({ name: "nobody", namespace })).to.equal(
      undefined,
    );
  });

  it("requires a namespace for namespaced kinds", async () => {
    expect(String(await failureOf(client.get({ name: "a" })))).to.contain(
      "lives in a namespace; give metadata.namespace",
    );
  });

  describe("finalizers", () => {
    it("are added once, and block deletion until they are removed", async () => {
      const widget = await addFinalizer(client, await aWidget(), "kube.test/tidy");
      expect(await addFinalizer(client, widget, "kube.test/tidy")).to.equal(widget);
      await client.delete(widget.metadata);
      const held = await client.get(widget.metadata);
      expect([hasFinalizer(held, "kube.test/tidy"), isDeleting(held)]).to.deep.equal([true, true]);
      await removeFinalizer(client, held, "kube.test/tidy");
      expect(await client.find(widget.metadata)).to.equal(undefined);
      await removeFinalizer(client, held, "kube.test/tidy");
    });

    it("keep those of another writer when both write concurrently", async () => {
      const widget = await aWidget();
      await Promise.all(["a", "b", "c"].map((name) => addFinalizer(client, widget, `kube.test/${name}`)));
      const { metadata } = await client.get(widget.metadata);
      expect(metadata.finalizers?.toSorted()).to.deep.equal(["kube.test/a", "kube.test/b", "kube.test/c"]);
      const held = await client.get(widget.metadata);
      for (const name of ["a", "b", "c"]) await removeFinalizer(client, held, `kube.test/${name}`);
    });

    it("are not added to another object of the same name", async () => {
      const widget = await aWidget();
      await client.delete(widget.metadata);
      await client.create({ metadata: { name: widget.metadata.name, namespace }, spec: { size: 1 } });
      expect(isNotFound(await failureOf(addFinalizer(client, widget, "kube.test/tidy")))).to.equal(true);
    });
  });
});

async function failureOf(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    (value) => new Error(`it did not fail: ${JSON.stringify(value)}`),
    (error: unknown) => {
      expect(error instanceof KubeError || error instanceof Error).to.equal(true);
      return error;
    },
  );
}
