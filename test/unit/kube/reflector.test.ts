import { expect } from "chai";
import { KubeConfig } from "@kubernetes/client-node";
import { type ConfigMap, configMaps } from "#kube/builtin.ts";
import { ObjectCache } from "#kube/cache.ts";
import { KubeError } from "#kube/errors.ts";
import { Reflector } from "#kube/reflector.ts";
import { ResourceClient } from "#kube/resourceClient.ts";
import { KubeTransport } from "#kube/transport.ts";
import { aStored } from "#test/factories/stored.ts";
import { FakeClock } from "#test/support/clocks/fakeClock.ts";

/** An API server whose responses to lists are written down beforehand, and whose watches are silent until they are cut. */
class ScriptedApi extends KubeTransport {
  readonly #responses: (object | KubeError)[] = [];
  #cut = Promise.withResolvers<never>();

  constructor() {
    super(new KubeConfig());
  }

  get isRead(): boolean {
    return this.#responses.length === 0;
  }

  respond(...responses: (object | KubeError)[]): void {
    this.#responses.push(...responses);
  }

  cutWatch(): void {
    this.#cut.reject(new KubeError({ reason: "Unreachable", message: "The connection was cut." }));
    this.#cut = Promise.withResolvers();
  }

  override request(): Promise<unknown> {
    const response = this.#responses.shift();
    if (response === undefined) throw new Error("Nothing is written down for this request.");
    return response instanceof KubeError ? Promise.reject(response) : Promise.resolve(response);
  }

  override async *watch(): AsyncGenerator<string, void, void> {
    yield await this.#cut.promise;
  }
}

const aList = (resourceVersion: string, ...versions: Record<string, string>[]): object => ({
  metadata: { resourceVersion },
  items: versions.flatMap((byName) => Object.entries(byName)).map(([name, version]) => aStored({ name, resourceVersion: version })),
});
const forbidden = new KubeError({ status: 403, reason: "Forbidden", message: "RBAC: not yet synced" });
const expired = new KubeError({ status: 410, reason: "Expired", message: "too old resource version" });
const tooLarge = new KubeError({ status: 504, reason: "Timeout", message: "Timeout: Too large resource version: 1600, current: 900" });

describe("Reflector", () => {
  let clock: FakeClock;
  let api: ScriptedApi;
  let cache: ObjectCache<ConfigMap>;
  let changes: string[];
  let reflector: Reflector<ConfigMap>;

  beforeEach(async () => {
    clock = new FakeClock();
    api = new ScriptedApi();
    cache = new ObjectCache();
    changes = [];
    reflector = new Reflector({ client: new ResourceClient(api, configMaps), cache, clock, random: () => 0.5 });
    api.respond(aList("1600", { changed: "1500", created: "1600" }));
    reflector.start();
    await reflector.waitForSync();
    cache.subscribe(({ type, object }) => changes.push(`${type} ${object.metadata.name} ${object.metadata.resourceVersion}`));
  });

  afterEach(async () => {
    api.cutWatch();
    await reflector.stop();
  });

  /** Cuts the watch; resolves once the reflector has taken all these responses. */
  async function cutAndRespond(...responses: (object | KubeError)[]): Promise<void> {
    api.respond(...responses);
    await clock.advance(0);
    api.cutWatch();
    await clock.advance(60_000);
    expect(api.isRead, "all responses taken").to.equal(true);
  }

  const startedOver = (...relisted: string[]): string[] => ["deleted changed 1500", "deleted created 1600", ...relisted];

  for (const refused of [forbidden, expired]) {
    it(`starts over when a list is older than what it has seen, though the look before it was answered ${refused.status}`, async () => {
      await cutAndRespond(refused, aList("900", { changed: "800" }));
      expect(changes).to.deep.equal(startedOver("added changed 800"));
    });

    it(`still starts over when the list that it was to start over with is answered ${refused.status} first`, async () => {
      await cutAndRespond(tooLarge, tooLarge, refused, aList("1700", { changed: "800", created: "1700" }));
      expect(changes).to.deep.equal(startedOver("added changed 800", "added created 1700"));
    });
  }

  it("keeps what it has through a list that is newer", async () => {
    await cutAndRespond(forbidden, aList("1700", { changed: "1500", created: "1600" }));
    expect(changes).to.deep.equal([]);
  });
});
