import { createServer, type Server } from "node:http";
import { gzipSync } from "node:zlib";
import { runOutputKey, savePictureKey } from "#contracts/objectKeys.ts";
import { pictureIdOf } from "#api/saves/savePictures.ts";
import { connectionTest, type TestSdpAnswer } from "#contracts/connectionTest.ts";
import {
  aGame,
  aGameSessionRow,
  aPartner,
  aSaveSlot,
  aUser,
  type TestUser,
} from "#test/factories/catalog.ts";
import { aPng, aSavePicture } from "#test/factories/pictures.ts";
import { TestApi } from "../http/api.ts";
import type { ApiClient } from "../http/apiClient.ts";
import { aTarGz } from "#test/factories/tarArchive.ts";
import { anArchive, archivedGame, sha256Of } from "../fixtures/archives.ts";
import { eventually } from "../clocks/eventually.ts";
import { storeObservations } from "#test/factories/observations.ts";
import { operatorOf, type FakeOperator } from "../cluster/fakeOperator.ts";
import { unknownNames } from "./interfaceFixture.ts";
import type { KnownValues } from "./sampleRequest.ts";
import { loopbackIp } from "../processes/loopbackIp.ts";

/** The sender of a route's requests, and their targets. */
export interface Sender {
  client: () => Promise<ApiClient>;
  known: KnownValues;
  /** A body with the route's purpose, if its schema alone does not define one. */
  goodBody?: unknown;
}

const platformRoutes = [
  "isReady",
  "launchGame",
  "uploadArchive",
  "createResumableUpload",
  "getResumableUpload",
  "appendChunk",
  "deleteResumableUpload",
  "uploadPicture",
  "getPicture",
  "offerStream",
  "hangUpStream",
  "startConnectionTest",
  "saveGameSession",
  "uploadNewSave",
  "uploadSave",
  "restoreSave",
  "copySaveSlot",
  "copySaveVersion",
  "downloadSave",
  "getSavePicture",
  "getVerificationPicture",
  "readSaveLink",
  "receiveSave",
  "getGameRunLog",
] as const;
type PlatformRoute = (typeof platformRoutes)[number];

/** Returns true if the route needs more than the database. */
export function isPlatformRoute(name: string): name is PlatformRoute {
  return platformRoutes.some((route) => route === name);
}

/** The loopback address of all session pods, because every pod's streamer uses the same port. */
const podIp = loopbackIp();

const connectionTestEnv = {
  CONNECTION_TEST_URL: `http://${podIp}:8080`,
  CONNECTION_TEST_SIGNING_KEY: Buffer.alloc(32, 1).toString("base64"),
};
const testSdpAnswer: TestSdpAnswer = {
  sdp: "v=0\r\n",
  nodeName: "node-a",
  addresses: ["192.0.2.1"],
  udpPort: 19_999,
};

/**
 * An API with a cluster of running sessions, an object store, a streamer that accepts every offer, and a
 * responder for connection tests.
 */
export class FakePlatform {
  readonly #api: TestApi;
  readonly #operator: FakeOperator;
  readonly #streamer: Server;

  private constructor(api: TestApi, operator: FakeOperator, streamer: Server) {
    this.#api = api;
    this.#operator = operator;
    this.#streamer = streamer;
  }

  static async start(env: Record<string, string>): Promise<FakePlatform> {
    const api = await TestApi.start({ kube: true, minio: true, env: { ...connectionTestEnv, ...env } });
    const operator = operatorOf(api);
    await operator.addNode(1000);
    await eventually(() => api.deps.cluster.gameNodes.cache.size > 0, { what: "the node to be known" });
    const streamer = createServer(({ method, url }, response) => {
      if (url === connectionTest.path)
        response.writeHead(201, { "content-type": "application/json" }).end(JSON.stringify(testSdpAnswer));
      else if (method === "POST")
        response
          .writeHead(201, { "content-type": "application/sdp", location: "/whep/connection-1" })
          .end("v=0 answer");
      else response.end();
    });
    await new Promise<void>((resolve, reject) => streamer.once("error", reject).listen(8080, podIp, resolve));
    return new FakePlatform(api, operator, streamer);
  }

  async stop(): Promise<void> {
    this.#streamer.close();
    this.#streamer.closeAllConnections();
    await this.#operator.removeNodes();
    await this.#api.stop();
  }

  async senderOf(route: PlatformRoute): Promise<Sender> {
    const { deps } = this.#api;
    switch (route) {
      case "isReady":
        return { client: () => Promise.resolve(this.#api.anonymous()), known: {} };
      case "getVerificationPicture": {
        const partner = await aPartner(deps);
        const { id: gameId, slug, versionId } = await aGame(deps, { partnerId: partner.id });
        await storeObservations(deps, { gameId, versionId: versionId ?? "", sessionId: `gs-${slug}` });
        return {
          client: () => Promise.resolve(this.#api.asPartner(partner)),
          known: { slug, gameVersionId: versionId ?? "", seconds: "5" },
        };
      }
      case "launchGame": {
        // A player who has launched has a session, and cannot launch again.
        const { slug } = await aGame(deps);
        return {
          client: async () => this.#api.as(await aUser(deps)),
          known: { ...unknownNames, gameSlug: slug },
        };
      }
      case "uploadArchive": {
        const partner = await aPartner(deps);
        const { slug } = await aGame(deps, {
          partnerId: partner.id,
          status: "pending_upload",
          ...archivedGame,
        });
        return {
          client: () => Promise.resolve(this.#api.asPartner(partner)),
          known: { slug },
          goodBody: await anArchive(),
        };
      }
      case "createResumableUpload":
      case "getResumableUpload":
      case "appendChunk":
      case "deleteResumableUpload": {
        const partner = await aPartner(deps);
        const { slug } = await aGame(deps, { partnerId: partner.id, ...archivedGame });
        const client = this.#api.asPartner(partner);
        const archive = await anArchive();
        const created = await client.post(`/api/partners/games/${slug}/uploads`, undefined, {
          "upload-length": String(archive.length),
        });
        const uploadId = created.headers.get("location")?.split("/").at(-1) ?? "";
        return {
          client: () => Promise.resolve(client),
          known: { slug, uploadId, "Upload-Offset": "0", "Tus-Resumable": "1.0.0" },
          ...(route === "appendChunk" && { goodBody: archive }),
        };
      }
      case "uploadPicture":
      case "getPicture": {
        const partner = await aPartner(deps);
        const { slug } = await aGame(deps, { partnerId: partner.id });
        const client = this.#api.asPartner(partner);
        if (route === "uploadPicture")
          return { client: () => Promise.resolve(client), known: { slug }, goodBody: aPng() };
        const { picture } = (
          await client.put(`/api/partners/games/${slug}/picture`, aPng(), { "content-type": "image/png" })
        ).json<{ picture: string }>();
        return {
          client: () => Promise.resolve(this.#api.anonymous()),
          known: { pictureId: picture.slice(picture.lastIndexOf("/") + 1) },
        };
      }
      case "getGameRunLog": {
        const [partner, user] = await Promise.all([aPartner(deps), aUser(deps)]);
        const game = await aGame(deps, { partnerId: partner.id });
        const { id } = await aGameSessionRow(deps, { user, game });
        await this.#api.minio?.client.putObject(
          this.#api.minio.bucket,
          runOutputKey(id),
          gzipSync("loading\n"),
        );
        return {
          client: () => Promise.resolve(this.#api.asPartner(partner)),
          known: { slug: game.slug, runId: id },
        };
      }
      case "uploadNewSave":
      case "uploadSave":
      case "restoreSave":
      case "copySaveSlot":
      case "copySaveVersion":
      case "downloadSave":
      case "getSavePicture": {
        const { user, known } = await this.#storedSave();
        const isUpload = route === "uploadNewSave" || route === "uploadSave";
        return {
          client: () => Promise.resolve(this.#api.as(user)),
          known,
          ...(isUpload && { goodBody: aTarGz([{ name: "slot.dat", body: "two" }]) }),
        };
      }
      case "readSaveLink":
      case "receiveSave": {
        const { user, known } = await this.#storedSave();
        const path = `/api/games/${known["slug"]}/saves/${known["slotId"]}/versions/${known["versionId"]}/links`;
        const { url } = (await this.#api.as(user).post(path)).json<{ url: string }>();
        const receiver = await aUser(deps);
        return {
          client: () => Promise.resolve(this.#api.as(receiver)),
          known: { ...known, token: url.slice(url.indexOf("#") + 1) },
        };
      }
      case "startConnectionTest": {
        const user = await aUser(deps);
        return { client: () => Promise.resolve(this.#api.as(user)), known: {}, goodBody: "v=0 offer" };
      }
      case "saveGameSession":
      case "offerStream":
      case "hangUpStream": {
        const user = await aUser(deps);
        const sessionId = await this.#runningSession(user);
        return {
          client: () => Promise.resolve(this.#api.as(user)),
          known: { sessionId, connectionId: "connection-1" },
          ...(route !== "saveGameSession" && { goodBody: "v=0 offer" }),
        };
      }
    }
  }

  /** Creates a player with a slot that has a stored save with a picture. */
  async #storedSave(): Promise<{ user: TestUser; known: KnownValues }> {
    const { deps, minio } = this.#api;
    const { prisma } = deps.postgres;
    const [user, game] = await Promise.all([aUser(deps), aGame(deps)]);
    const { id: slotId } = await aSaveSlot(deps, { user, game });
    const archive = aTarGz([{ name: "slot.dat", body: "one" }]);
    const save = {
      objectKey: `saves/${slotId}/1-gs-a-1.tar.gz`,
      sha256: sha256Of(archive),
      bytes: BigInt(archive.length),
      generation: 1,
    };
    const picture = aSavePicture();
    await minio?.client.putObject(minio.bucket, save.objectKey, archive);
    await minio?.client.putObject(minio.bucket, savePictureKey(save.objectKey), picture);
    await prisma.savePicture.create({ data: { objectKey: save.objectKey, slotId, bytes: picture.length } });
    await prisma.saveSlot.update({ where: { id: slotId }, data: save });
    const { id: versionId } = await prisma.saveVersion.create({ data: { ...save, slotId, kind: "played" } });
    return {
      user,
      known: {
        ...unknownNames,
        slug: game.slug,
        slotId,
        versionId,
        pictureId: pictureIdOf(save.objectKey),
      },
    };
  }

  async #runningSession(user: TestUser): Promise<string> {
    const { slug } = await aGame(this.#api.deps);
    const { sessionId } = (await this.#api.as(user).post("/api/game/launch", { gameSlug: slug })).json<{
      sessionId: string;
    }>();
    await this.#operator.makeReady(sessionId, { podIp });
    const { prisma } = this.#api.deps.postgres;
    await eventually(
      async () =>
        (await prisma.gameSession.findUniqueOrThrow({ where: { id: sessionId } })).status === "running",
      { what: "the session to run" },
    );
    return sessionId;
  }
}
