import { expect } from "chai";
import { type ConfigMap, configMaps } from "#kube/api/builtin.ts";
import { isConditionTrue, setCondition } from "#kube/api/conditions.ts";
import { Controller } from "#kube/controllers/controller.ts";
import { addFinalizer, isDeleting, removeFinalizer } from "#kube/controllers/finalizers.ts";
import { silentLogger } from "#runtime/logger.ts";
import { ownedBy, refOf } from "#kube/api/object.ts";
import { Reflector } from "#kube/cache/reflector.ts";
import { ResourceClient } from "#kube/client/resourceClient.ts";
import { fromCache } from "#kube/cache/source.ts";
import { ObjectCache } from "#kube/cache/cache.ts";
import type { KubeTransport } from "#kube/client/transport.ts";
import { eventually } from "#test/support/clocks/eventually.ts";
import { type KubeApiServer, sharedKubeApiServer } from "#test/support/cluster/kubeApiServer.ts";
import { toOwner } from "#test/support/cluster/toOwner.ts";
import { type Widget, widgetDefinition, widgets } from "#test/support/session/widgets.ts";

const finalizer = "kube.test/tidy";
const rules = [
  { apiGroups: ["kube.test"], resources: ["widgets"], verbs: ["get", "list", "watch", "patch"] },
  { apiGroups: ["kube.test"], resources: ["widgets/status"], verbs: ["patch"] },
  {
    apiGroups: [""],
    resources: ["configmaps"],
    verbs: ["get", "list", "watch", "create", "patch", "delete"],
  },
];

/** A controller that keeps one ConfigMap per Widget, and deletes it before the Widget is deleted. */
class WidgetProgram {
  readonly caches: [Reflector<Widget>, Reflector<ConfigMap>];
  readonly controller: Controller;
  readonly #widgets: ResourceClient<Widget>;
  readonly #configMaps: ResourceClient<ConfigMap>;

  constructor(transport: KubeTransport, namespace: string) {
    this.#widgets = new ResourceClient(transport, widgets);
    this.#configMaps = new ResourceClient(transport, configMaps);
    const backOff = { baseMs: 100, maxMs: 1000 };
    this.caches = [
      new Reflector({ client: this.#widgets, cache: new ObjectCache(), namespace, backOff }),
      new Reflector({ client: this.#configMaps, cache: new ObjectCache(), namespace, backOff }),
    ];
    this.controller = new Controller({
      name: "widgets",
      workers: 4,
      logger: silentLogger,
      backOff: { baseMs: 20, maxMs: 500 },
      sources: [fromCache(this.caches[0]), fromCache(this.caches[1], { keys: toOwner("Widget") })],
      reconcile: (key, { signal }) => this.#reconcile(key, signal),
    });
  }

  async start(): Promise<void> {
    for (const cache of this.caches) cache.start();
    await this.controller.start();
  }

  async stop(): Promise<void> {
    await this.controller.stop();
    await Promise.all(this.caches.map((cache) => cache.stop()));
  }

  async #reconcile(key: string, signal: AbortSignal): Promise<void> {
    const widget = this.caches[0].cache.get(key);
    if (!widget) return;
    if (isDeleting(widget)) {
      if (await this.#configMaps.find(refOf(key), { signal }))
        await this.#configMaps.delete(refOf(key), { signal });
      await removeFinalizer(this.#widgets, widget, finalizer, { signal });
      return;
    }
    const { metadata } = await addFinalizer(this.#widgets, widget, finalizer, { signal });
    const intent = { name: metadata.name, namespace: metadata.namespace, ownerReferences: [ownedBy(widget)] };
    await this.#configMaps.apply(
      { metadata: intent, data: { size: String(widget.spec.size) } },
      { fieldManager: "widgets", signal },
    );
    const conditions = setCondition(
      widget.status?.conditions,
      { type: "Ready", status: "True", reason: "Written", message: "" },
      new Date(),
    );
    await this.#widgets.applyStatus(
      { metadata: { name: metadata.name, namespace: metadata.namespace }, status: { conditions } },
      { fieldManager: "widgets", signal },
    );
  }
}

describe("Controller on a real API server", () => {
  let server: KubeApiServer;
  let namespace: string;
  let transport: KubeTransport;
  let program: WidgetProgram;
  let widgetClient: ResourceClient<Widget>;
  let configMapClient: ResourceClient<ConfigMap>;

  before(async function () {
    this.timeout(60_000);
    server = await sharedKubeApiServer();
    await server.applyCustomResources(widgetDefinition);
    widgetClient = new ResourceClient(server.admin, widgets);
    configMapClient = new ResourceClient(server.admin, configMaps);
  });

  beforeEach(async () => {
    namespace = await server.createNamespace();
    ({ transport } = await server.asUser(`user-of-${namespace}`, rules, namespace));
    program = new WidgetProgram(transport, namespace);
  });

  afterEach(() => program.stop());

  const create = (name: string, size: number): Promise<unknown> =>
    widgetClient.create({ metadata: { name, namespace }, spec: { size } });
  const sizeOf = async (name: string): Promise<string | undefined> =>
    (await configMapClient.find({ name, namespace }))?.data?.size;

  it("reconciles widgets under its own Role and repairs changes by others", async () => {
    await create("before", 1);
    await program.start();
    await create("after", 2);
    await eventually(async () => (await sizeOf("before")) === "1" && (await sizeOf("after")) === "2");
    await eventually(async () =>
      isConditionTrue((await widgetClient.get({ name: "after", namespace })).status?.conditions, "Ready"),
    );
    await configMapClient.delete({ name: "after", namespace });
    await eventually(async () => (await sizeOf("after")) === "2", {
      what: "the deleted ConfigMap to be back",
    });
    await widgetClient.delete({ name: "after", namespace });
    await eventually(async () => (await widgetClient.find({ name: "after", namespace })) === undefined);
    expect(await sizeOf("after")).to.equal(undefined);
  });

  it("writes nothing when nothing changes", async () => {
    await program.start();
    await create("a", 1);
    await eventually(async () => (await sizeOf("a")) === "1");
    const versions = async (): Promise<string> => {
      const { resourceVersion } = (await widgetClient.get({ name: "a", namespace })).metadata;
      return `${resourceVersion} ${(await configMapClient.get({ name: "a", namespace })).metadata.resourceVersion}`;
    };
    let last = "";
    await eventually(
      async () => {
        const before = last;
        last = await versions();
        return before === last;
      },
      { intervalMs: 500 },
    );
  });

  it("resumes after a restart of the API server", async function () {
    this.timeout(60_000);
    await program.start();
    await create("a", 1);
    await eventually(async () => (await sizeOf("a")) === "1");
    await server.programs.apiServer.stop();
    await server.programs.apiServer.start();
    await eventually(() => create("b", 2).then(() => true), {
      timeoutMs: 20_000,
      what: "the API server to take writes again",
    });
    await eventually(async () => (await sizeOf("b")) === "2", { timeoutMs: 20_000 });
  });

  it("leaves interrupted work to its successor", async () => {
    await program.start();
    await Promise.all(Array.from({ length: 20 }, (_, i) => create(`w-${i}`, i + 1)));
    await program.stop();
    program = new WidgetProgram(transport, namespace);
    await program.start();
    await eventually(async () => (await configMapClient.listAll({ namespace })).items.length === 20);
  });
});
