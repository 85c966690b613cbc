import { aGame, type TestGame } from "#test/factories/catalog.ts";
import { operatorOf, type FakeOperator } from "../cluster/fakeOperator.ts";
import { startFaultProxy, type FaultProxy } from "../cluster/faultProxy.ts";
import { FaultyApi } from "../cluster/faultyApi.ts";
import { sharedKubeApiServer } from "../cluster/kubeApiServer.ts";
import { TestApi } from "../http/api.ts";
import { sharedMinio, type TestMinio } from "../stores/minio.ts";
import { eventually } from "../clocks/eventually.ts";
import { historyRule } from "./savesModel.ts";

const plenty = "10000";

/**
 * The real API on real stores and a real API server, with faults in front of the object store and the API server. Another process seems to
 * lead: background work is done when a command says so, and at no other time.
 */
export class SavesFixture {
  readonly api: TestApi;
  readonly operator: FakeOperator;
  /** As node agents reach it: without the faults. */
  readonly minio: TestMinio;
  readonly cluster: FaultyApi;
  readonly game: TestGame;
  readonly #proxy: FaultProxy;

  private constructor(api: TestApi, game: TestGame, parts: { minio: TestMinio; proxy: FaultProxy; cluster: FaultyApi }) {
    this.api = api;
    this.game = game;
    this.operator = operatorOf(api);
    ({ minio: this.minio, cluster: this.cluster } = parts);
    this.#proxy = parts.proxy;
  }

  static async start(): Promise<SavesFixture> {
    const [minio, server] = await Promise.all([sharedMinio(), sharedKubeApiServer()]);
    const [proxy, cluster] = await Promise.all([startFaultProxy(minio.endpoint), FaultyApi.start(server)]);
    const api = await TestApi.start({
      kube: true, isLed: true, hasFaults: true,
      env: {
        KUBECONFIG: cluster.kubeconfig(), S3_ENDPOINT: proxy.endpoint, S3_BUCKET: minio.bucket, S3_ACCESS_KEY: minio.accessKey, S3_SECRET_KEY: minio.secretKey,
        SAVE_VERSIONS_KEPT: String(historyRule.versionsKept), SAVE_DAILY_VERSIONS_DAYS: String(historyRule.dailyVersionsDays),
        SAVE_RETENTION_DAYS: String(historyRule.retentionDays), LAUNCHES_PER_MINUTE: plenty, LAUNCHES_PER_HOUR: plenty, CATALOG_REQUESTS_PER_MINUTE: plenty,
      },
    });
    const fixture = new SavesFixture(api, await aGame(api.deps), { minio, proxy, cluster });
    const node = await fixture.operator.addNode(1000);
    await eventually(() => api.deps.cluster.gameNodes.cache.list().some(({ metadata, status }) => metadata.name === node && status?.capacity !== undefined));
    return fixture;
  }

  setStoreUp(isUp: boolean): void {
    this.#proxy.fault = isUp ? undefined : () => ({ isCut: true });
  }

  setClusterWritable(isWritable: boolean): void {
    this.cluster.isReadOnly = !isWritable;
  }

  async stop(): Promise<void> {
    this.setClusterWritable(true);
    await this.operator.removeNodes();
    await this.api.stop();
    await Promise.all([this.#proxy.close(), this.cluster.stop(), this.minio.remove()]);
  }
}
