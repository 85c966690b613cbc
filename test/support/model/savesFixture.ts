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
 * The real API with real stores and a real API server, with fault injection in front of the object store and
 * the API server. Another process seems to lead, so background work runs only when a command starts it.
 */
export class SavesFixture {
  readonly api: TestApi;
  readonly operator: FakeOperator;
  /** The object store without faults, as used by node agents. */
  readonly minio: TestMinio;
  readonly cluster: FaultyApi;
  readonly game: TestGame;
  /** A lost node, which accepts no sessions. */
  readonly lostNode: string;
  readonly #proxy: FaultProxy;

  private constructor(
    api: TestApi,
    game: TestGame,
    lostNode: string,
    parts: { operator: FakeOperator; minio: TestMinio; proxy: FaultProxy; cluster: FaultyApi },
  ) {
    this.api = api;
    this.game = game;
    this.lostNode = lostNode;
    this.operator = parts.operator;
    ({ minio: this.minio, cluster: this.cluster } = parts);
    this.#proxy = parts.proxy;
  }

  static async start(): Promise<SavesFixture> {
    const [minio, server] = await Promise.all([sharedMinio(), sharedKubeApiServer()]);
    const [proxy, cluster] = await Promise.all([startFaultProxy(minio.endpoint), FaultyApi.start(server)]);
    const api = await TestApi.start({
      kube: true,
      isLed: true,
      hasFaults: true,
      env: {
        KUBECONFIG: cluster.kubeconfig(),
        S3_ENDPOINT: proxy.endpoint,
        S3_BUCKET: minio.bucket,
        S3_ACCESS_KEY: minio.accessKey,
        S3_SECRET_KEY: minio.secretKey,
        SAVE_VERSIONS_KEPT: String(historyRule.versionsKept),
        SAVE_DAILY_VERSIONS_DAYS: String(historyRule.dailyVersionsDays),
        SAVE_RETENTION_DAYS: String(historyRule.retentionDays),
        LAUNCHES_PER_MINUTE: plenty,
        LAUNCHES_PER_HOUR: plenty,
        CATALOG_REQUESTS_PER_MINUTE: plenty,
      },
    });
    const operator = operatorOf(api);
    const [node, lostNode] = [await operator.addNode(1000), await operator.addNode(0)];
    await operator.loseNode(lostNode);
    await eventually(
      () =>
        api.deps.cluster.gameNode(node)?.status?.capacity !== undefined &&
        api.deps.cluster.gameNode(lostNode)?.status?.conditions !== undefined,
      { what: "the API to see the nodes" },
    );
    return new SavesFixture(api, await aGame(api.deps), lostNode, { operator, minio, proxy, cluster });
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
