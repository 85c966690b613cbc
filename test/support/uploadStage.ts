import { expect } from "chai";
import { randomBytes } from "node:crypto";
import { request as httpRequest, type ClientRequest } from "node:http";
import { aGame, aPartner, type TestGame, type TestPartner } from "../factories/catalog.ts";
import { TestApi } from "./api.ts";
import type { ApiClient, ApiResponse } from "./apiClient.ts";
import { anArchive, archivedGame } from "./archives.ts";
import { eventually } from "./eventually.ts";
import { answerTo } from "./httpAnswer.ts";
import { operatorOf, type PlayedOperator } from "./playedOperator.ts";
import type { TestMinio } from "./minio.ts";

const gzip = { "content-type": "application/gzip" };

/** A partner's request whose body is sent by hand. */
export interface HandSentUpload {
  request: ClientRequest;
  /** Status of the answer. */
  answered: Promise<number>;
}

/** An API with real stores, and a partner with a game that waits for its archive; partner and game are new for each test. */
export class UploadStage {
  readonly api: TestApi;
  readonly minio: TestMinio;
  readonly operator: PlayedOperator;
  partner!: TestPartner;
  client!: ApiClient;
  game!: TestGame;

  private constructor(api: TestApi, minio: TestMinio) {
    this.api = api;
    this.minio = minio;
    this.operator = operatorOf(api);
  }

  static async start(env: Record<string, string>): Promise<UploadStage> {
    const api = await TestApi.start({ kube: true, minio: true, env });
    if (api.minio === undefined) throw new Error("The API has no object store.");
    const stage = new UploadStage(api, api.minio);
    await stage.operator.addNode(100);
    return stage;
  }

  async newGame(): Promise<void> {
    this.partner = await aPartner(this.api.deps);
    this.client = this.api.asPartner(this.partner);
    this.game = await aGame(this.api.deps, { partnerId: this.partner.id, status: "pending_upload", ...archivedGame });
  }

  async stop(): Promise<void> {
    await this.operator.removeNodes();
    await this.api.stop();
  }

  get path(): string {
    return `/api/partners/games/${this.game.slug}/upload`;
  }

  upload(body: unknown, headers: Record<string, string> = {}): Promise<ApiResponse> {
    return this.client.put(this.path, body, { ...gzip, ...headers });
  }

  async uploaded(archive: Buffer): Promise<void> {
    const response = await this.upload(archive);
    expect(response.status, response.text).to.equal(200);
  }

  /** Begins an upload whose bytes the test sends; resolves once the API has taken it on. */
  async beginUpload(archive: Buffer, url = this.api.url, headers: Record<string, string> = {}): Promise<HandSentUpload> {
    const request = httpRequest(url + this.path, {
      method: "PUT", headers: { authorization: `Bearer ${this.partner.key}`, "content-length": String(archive.length), ...gzip, ...headers },
    });
    const answered = answerTo(request).then(({ status }) => status);
    answered.catch(() => undefined); // Not every test waits for it.
    request.write(archive.subarray(0, 100));
    await eventually(async () => await this.uploadsUnderWay() === 1, { what: "the upload to be taken on" });
    return { request, answered };
  }

  /** Begins an upload and sends of it until the store has a part; `rest` is what is still to be sent. */
  async beginLargeUpload(): Promise<HandSentUpload & { large: Buffer; rest: Buffer }> {
    const noise = randomBytes(20 * 2 ** 20);
    const large = await anArchive({ header: { name: "engine/noise.bin", size: noise.length }, body: noise });
    const upload = await this.beginUpload(large);
    upload.request.write(large.subarray(100, 9 * 2 ** 20));
    await eventually(async () => await this.storedBytes() > 0, { what: "a part to be stored" });
    return { ...upload, large, rest: large.subarray(9 * 2 ** 20) };
  }

  uploadsUnderWay(): Promise<number> {
    return this.api.deps.postgres.prisma.gameUpload.count({ where: { gameId: this.game.id, abandonedAt: null } });
  }

  async objectKeys(): Promise<string[]> {
    const keys: string[] = [];
    for await (const item of this.minio.client.listObjectsV2(this.minio.bucket, `archives/${this.game.id}/`, true)) keys.push((item as { name: string }).name);
    return keys;
  }

  async unfinishedUploads(): Promise<string[]> {
    const { uploads } = await this.minio.client.listIncompleteUploadsQuery(this.minio.bucket, "", "", "", "");
    return uploads.map(({ key }) => key).filter((key) => key.includes(this.game.id));
  }

  /** Bytes of the game's unfinished uploads that the store holds. */
  async storedBytes(): Promise<number> {
    let bytes = 0;
    // Of a prefix that is no whole key the store tells nothing.
    for (const key of await this.unfinishedUploads()) {
      for await (const item of this.minio.client.listIncompleteUploads(this.minio.bucket, key, true)) bytes += (item as { size: number }).size;
    }
    return bytes;
  }

  async stateOf(): Promise<{ status: string; currentVersionId: string | null; deletedAt: Date | null }> {
    return this.api.deps.postgres.prisma.game.findUniqueOrThrow({
      where: { id: this.game.id }, select: { status: true, currentVersionId: true, deletedAt: true },
    });
  }
}
