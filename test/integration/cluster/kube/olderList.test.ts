import { expect } from "chai";
import { type ConfigMap, configMaps } from "#kube/api/builtin.ts";
import { ObjectCache } from "#kube/cache/cache.ts";
import { Reflector } from "#kube/cache/reflector.ts";
import { ResourceClient } from "#kube/client/resourceClient.ts";
import { eventually } from "#test/support/clocks/eventually.ts";
import { FaultyApi } from "#test/support/cluster/faultyApi.ts";
import { type KubeApiServer, sharedKubeApiServer } from "#test/support/cluster/kubeApiServer.ts";
import { fullListOf, lookAtOneOf, tooLarge } from "#test/support/cluster/seenRequests.ts";

const isLookAtOne = lookAtOneOf("configmaps");
const isList = fullListOf("configmaps");

describe("Reflector after a cluster restore", () => {
  let server: KubeApiServer;
  let api: FaultyApi;
  let direct: ResourceClient<ConfigMap>;
  let namespace: string;
  let changes: string[];
  let reflector: Reflector<ConfigMap>;

  before(async function () {
    this.timeout(60_000);
    server = await sharedKubeApiServer();
    direct = new ResourceClient(server.admin, configMaps);
  });

  beforeEach(async () => {
    [api, namespace] = await Promise.all([FaultyApi.start(server), server.createNamespace()]);
    await create("a");
    const cache = new ObjectCache<ConfigMap>();
    changes = [];
    reflector = new Reflector({
      client: new ResourceClient(api.transport({ maxAttempts: 1 }), configMaps),
      cache,
      namespace,
      backOff: { baseMs: 20, maxMs: 200 },
    });
    reflector.start();
    await reflector.waitForSync(AbortSignal.timeout(20_000));
    await eventually(() => api.openWatches === 1, { what: "one open watch" });
    cache.subscribe(({ type, object }) => changes.push(`${type} ${object.metadata.name}`));
  });

  afterEach(async () => {
    await reflector.stop();
    await api.stop();
  });

  const create = (name: string): Promise<unknown> => direct.create({ metadata: { name, namespace } });
  const changed = (...expected: string[]): Promise<unknown> =>
    eventually(() => {
      expect(changes.slice(0, expected.length)).to.deep.equal(expected);
      return true;
    });

  for (const [status, reason] of [
    [403, "Forbidden"],
    [410, "Expired"],
  ] as const) {
    it(`starts over when a list is older than the known version, even after a ${status}`, async () => {
      api.respondOnce(isLookAtOne, status, { reason });
      api.respondOnce(isList, 200, { kind: "ConfigMapList", metadata: { resourceVersion: "1" }, items: [] });
      api.cutWatches();
      await changed("deleted a", "added a");
    });

    it(`still starts over when the list for it first fails with ${status}`, async () => {
      for (let look = 0; look < 2; look++) api.respondOnce(isLookAtOne, 504, tooLarge);
      api.respondOnce(isList, status, { reason });
      api.cutWatches();
      await changed("deleted a", "added a");
    });
  }

  it("keeps its content through a newer list", async () => {
    api.respondOnce(isLookAtOne, 403, { reason: "Forbidden" });
    api.cutWatches();
    await create("b");
    await changed("added b");
    expect(api.requests.filter(isList), "the first list, and the newer one").to.have.length(2);
  });
});
