import { expect } from "chai";
import { type ConfigMap, configMaps } from "#kube/api/builtin.ts";
import { ObjectCache } from "#kube/cache/cache.ts";
import { Reflector } from "#kube/cache/reflector.ts";
import { ResourceClient } from "#kube/client/resourceClient.ts";
import { eventually } from "#test/support/clocks/eventually.ts";
import { FakeClock } from "#test/support/clocks/fakeClock.ts";
import { FaultyApi } from "#test/support/cluster/faultyApi.ts";
import { type KubeApiServer, sharedKubeApiServer } from "#test/support/cluster/kubeApiServer.ts";
import { watchOf } from "#test/support/cluster/seenRequests.ts";

const isWatch = watchOf("configmaps");

describe("Reflector.behindForMs", () => {
  let server: KubeApiServer;
  let api: FaultyApi;
  let direct: ResourceClient<ConfigMap>;
  let namespace: string;
  let cache: ObjectCache<ConfigMap>;
  let clock: FakeClock;
  let reflector: Reflector<ConfigMap>;

  before(async function () {
    this.timeout(60_000);
    server = await sharedKubeApiServer();
    direct = new ResourceClient(server.admin, configMaps);
  });

  beforeEach(async () => {
    [api, namespace] = await Promise.all([FaultyApi.start(server), server.createNamespace()]);
    cache = new ObjectCache();
    clock = new FakeClock();
    // One attempt per call, so that the tests see the retries of the reflector and not those of the
    // transport.
    reflector = new Reflector({
      client: new ResourceClient(api.transport({ maxAttempts: 1 }), configMaps),
      cache,
      namespace,
      clock,
      backOff: { baseMs: 20, maxMs: 200 },
    });
    expect(reflector.behindForMs, "before the first list").to.equal(undefined);
    reflector.start();
    await reflector.waitForSync(AbortSignal.timeout(20_000));
    await watches(1);
  });

  afterEach(async () => {
    await reflector.stop();
    await api.stop();
  });

  const watches = (count: number): Promise<unknown> =>
    eventually(
      async () => {
        await clock.advance(20);
        return api.openWatches === 1 && api.requests.filter(isWatch).length === count;
      },
      { what: `watch ${count}` },
    );
  const put = (value: string): Promise<unknown> =>
    direct.apply({ metadata: { name: "a", namespace }, data: { value } }, { fieldManager: "test" });
  const told = (value: string): Promise<unknown> =>
    eventually(() => cache.get(`${namespace}/a`)?.data?.["value"] === value, { what: `the value ${value}` });

  it("counts from the last message of the watch", async () => {
    await clock.advance(5_000);
    expect(reflector.behindForMs).to.be.at.least(5_000);
    await put("1");
    await told("1");
    expect(reflector.behindForMs).to.equal(0);
  });

  it("counts from the last message of a broken watch until the next one has had time to deliver missed changes", async () => {
    await clock.advance(5_000);
    api.cutWatches();
    await watches(2);
    await put("1");
    await told("1");
    expect(reflector.silentForMs).to.equal(0);
    expect(reflector.behindForMs, "more missed changes may arrive").to.be.at.least(5_000);
    await clock.advance(1_000);
    expect(reflector.behindForMs).to.be.within(1_000, 2_000);
  });

  it("counts from the end of a watch that the server closed normally", async () => {
    await clock.advance(20_000);
    api.closeWatches();
    await watches(2);
    expect(reflector.behindForMs).to.be.below(1_000);
  });
});
