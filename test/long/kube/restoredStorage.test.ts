import { expect } from "chai";
import { type ConfigMap, configMaps } from "#kube/api/builtin.ts";
import { ObjectCache } from "#kube/cache/cache.ts";
import { Reflector } from "#kube/cache/reflector.ts";
import { ResourceClient } from "#kube/client/resourceClient.ts";
import { eventually } from "#test/support/clocks/eventually.ts";
import { type KubeApiServer, startKubeApiServer } from "#test/support/cluster/kubeApiServer.ts";

describe("A cluster whose storage was restored from a backup", function () {
  this.timeout(180_000);
  let server: KubeApiServer;
  let namespace: string;
  let cache: ObjectCache<ConfigMap>;
  let reflector: Reflector<ConfigMap>;

  beforeEach(async () => {
    server = await startKubeApiServer();
    namespace = await server.createNamespace();
    cache = new ObjectCache();
    const client = new ResourceClient(server.transport(), configMaps);
    reflector = new Reflector({ client, cache, namespace });
  });

  afterEach(async () => {
    await reflector.stop();
    await server.stop();
  });

  const write = (name: string, value: string): Promise<unknown> =>
    new ResourceClient(server.admin, configMaps).apply(
      { metadata: { name, namespace }, data: { value } },
      { fieldManager: "test" },
    );
  const held = (): string[] =>
    cache
      .list()
      .map(({ metadata, data }) => `${metadata.name} ${data?.value ?? ""}`)
      .sort();
  const holds = (...objects: string[]): Promise<unknown> =>
    eventually(() => expect(held()).to.deep.equal(objects), {
      timeoutMs: 90_000,
      what: `${objects.join(", ")} in the cache`,
    });

  it("is observed in its restored state, not in a later one", async () => {
    await write("changed", "old");
    await write("deleted", "old");
    const restore = await server.backUpStorage();
    reflector.start();
    await holds("changed old", "deleted old");
    await write("changed", "new");
    await write("created", "new");
    await new ResourceClient(server.admin, configMaps).delete({ name: "deleted", namespace });
    for (let i = 0; i < 50; i++) await write("created", `new ${i}`);
    await holds("changed new", "created new 49");

    await restore();
    await holds("changed old", "deleted old");

    await write("changed", "newer");
    await holds("changed newer", "deleted old");
  });
});
