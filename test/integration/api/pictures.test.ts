import { expect } from "chai";
import { updateCurrentPicture } from "#api/games/pictures/pictureQueries.ts";
import { sweepPictures } from "#api/games/pictures/storePicture.ts";
import { limits } from "#contracts/limits.ts";
import { aGame, aPartner, aUser, type TestGame, type TestPartner } from "#test/factories/catalog.ts";
import { aJpeg, aPng } from "#test/factories/pictures.ts";
import { TestApi } from "#test/support/http/api.ts";
import { expectErrorResponse, type ApiClient, type ApiResponse } from "#test/support/http/apiClient.ts";
import { stateOf } from "#test/support/openapi/storedState.ts";

describe("a game's picture", function () {
  this.timeout(60_000);
  let api: TestApi;
  let partner: TestPartner;
  let client: ApiClient;
  let game: TestGame;

  before(async () => {
    api = await TestApi.start({ minio: true });
  });
  beforeEach(async () => {
    partner = await aPartner(api.deps);
    client = api.asPartner(partner);
    game = await aGame(api.deps, { partnerId: partner.id, thumbnail: "https://example.test/their-own.png" });
  });
  after(() => api.stop());

  const put = (
    bytes: Buffer,
    type = "image/png",
    headers: Record<string, string> = {},
  ): Promise<ApiResponse> =>
    client.put(`/api/partners/games/${game.slug}/picture`, bytes, { "content-type": type, ...headers });

  async function stored(bytes: Buffer, type?: string): Promise<string> {
    const response = await put(bytes, type);
    expect(response.status, response.text).to.equal(200);
    return response.json<{ picture: string }>().picture;
  }

  async function shown(): Promise<{ inList: string; onPage: string; toPartner: string | null }> {
    const player = api.as(await aUser(api.deps));
    const { games } = (await player.get(`/api/games?search=${game.slug}`)).json<{
      games: { thumbnail: string }[];
    }>();
    const { thumbnail: onPage } = (await player.get(`/api/games/${game.slug}`)).json<{ thumbnail: string }>();
    const { picture: toPartner } = (await client.get(`/api/partners/games/${game.slug}`)).json<{
      picture: string | null;
    }>();
    return { inList: games[0]?.thumbnail ?? "", onPage, toPartner };
  }

  async function objectKeys(): Promise<string[]> {
    const { client: minio, bucket } = api.deps.objectStore;
    const items = (await minio.listObjectsV2(bucket, `pictures/${game.id}/`, true).toArray()) as {
      name: string;
    }[];
    return items.map(({ name }) => name);
  }

  /** As if all that is not shown had been so for an hour. */
  async function sweepLater(): Promise<void> {
    await api.deps.postgres.pool.query(
      "UPDATE game_pictures SET superseded_at = superseded_at - interval '1 hour' WHERE game_id = $1",
      [game.id],
    );
    await sweepPictures(api.deps);
  }

  it("is shown in the catalogue and on the game's page, instead of the partner's thumbnail", async () => {
    expect(await shown()).to.deep.equal({
      inList: "https://example.test/their-own.png",
      onPage: "https://example.test/their-own.png",
      toPartner: null,
    });
    const bytes = aPng({ width: 1280, height: 720 });
    const response = await put(bytes);
    expect(response.status, response.text).to.equal(200);
    const { picture, ...rest } = response.json<{ picture: string }>();
    expect(rest).to.deep.equal({
      slug: game.slug,
      type: "image/png",
      width: 1280,
      height: 720,
      size: bytes.length,
    });
    expect(await shown()).to.deep.equal({ inList: picture, onPage: picture, toPartner: picture });
  });

  it("is served to anybody who knows its address, cacheable forever and only as a picture", async () => {
    const bytes = aJpeg();
    const address = await stored(bytes, "image/jpeg");
    expect(address).to.match(new RegExp(`^${api.url}/api/pictures/[0-9a-f-]{36}$`));
    const response = await fetch(address);
    expect(response.status).to.equal(200);
    expect(Buffer.from(await response.arrayBuffer()).equals(bytes)).to.be.true;
    expect(Object.fromEntries(response.headers)).to.include({
      "content-type": "image/jpeg",
      "content-length": String(bytes.length),
      "x-content-type-options": "nosniff",
      "cache-control": "public, max-age=31536000, immutable",
      "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
    });
    const etag = response.headers.get("etag") ?? "";
    const again = await api.anonymous().get(new URL(address).pathname, { "if-none-match": etag });
    expect([again.status, again.text, again.headers.get("etag")]).to.deep.equal([304, "", etag]);
    expectErrorResponse(await api.anonymous().get("/api/pictures/nobody-stored-this"), 404, "not_found");
  });

  it("gets a new address if it changes, and keeps it if it is the same", async () => {
    const first = await stored(aPng());
    const etag = (await client.get(`/api/partners/games/${game.slug}`)).headers.get("etag") ?? "";
    expect(await stored(aPng())).to.equal(first);
    expect(await objectKeys()).to.have.length(1);
    const second = await stored(aPng({ colour: 0xff0000 }));
    expect(second).to.not.equal(first);
    expectErrorResponse(
      await put(aPng({ colour: 1 }), "image/png", { "if-match": etag }),
      412,
      "precondition_failed",
    );
    expect((await fetch(first)).status, "a page that is still open").to.equal(200);
    await sweepLater();
    expect([(await fetch(first)).status, (await fetch(second)).status]).to.deep.equal([404, 200]);
    expect(await objectKeys()).to.have.length(1);
  });

  it("is shown to its partner at the service's new address, while an earlier tag still matches the game", async () => {
    const { pathname } = new URL(await stored(aPng()));
    const detailPath = `/api/partners/games/${game.slug}`;
    const etag = (await client.get(detailPath)).headers.get("etag") ?? "";
    expect((await client.get(detailPath, { "if-none-match": etag })).status).to.equal(304);
    const moved = await TestApi.start({ database: api.database, env: { BASE_URL: "https://moved.example" } });
    try {
      const afterMove = api.asPartner(partner, moved);
      const response = await afterMove.get(detailPath, { "if-none-match": etag });
      expect(response.status, "what the partner has names an address that is gone").to.equal(200);
      expect(response.json()).to.include({ picture: `https://moved.example${pathname}` });
      expect(
        (await afterMove.patch(detailPath, { title: "After the move" }, { "if-match": etag })).status,
      ).to.equal(200);
    } finally {
      await moved.stop();
    }
  });

  it("is refused with an explanation if it is invalid, and changes nothing", async () => {
    await stored(aPng());
    const before = await stateOf(api);
    const { bytes: bytesMax } = limits.picture;
    const bad: [Buffer, string, number, string, RegExp][] = [
      [
        Buffer.from("<svg/>"),
        "image/svg+xml",
        415,
        "unsupported_media_type",
        /image\/png or image\/jpeg or image\/webp or image\/avif/,
      ],
      [aPng(), "text/html", 415, "unsupported_media_type", /image\/png/],
      [
        Buffer.from("<!doctype html><script>alert(1)</script>".padEnd(400)),
        "image/png",
        422,
        "invalid_picture",
        /not a complete picture of type image\/png/,
      ],
      [aPng().subarray(0, 60), "image/png", 422, "invalid_picture", /not a complete picture/],
      [aJpeg(), "image/png", 422, "invalid_picture", /is image\/jpeg, not image\/png/],
      [
        aPng({ width: 63 }),
        "image/png",
        422,
        "invalid_picture",
        /63 × 72 pixels: each side must have 64 to 4096/,
      ],
      [aPng({ width: 64, height: 4097 }), "image/png", 422, "invalid_picture", /64 × 4097/],
      [Buffer.alloc(0), "image/png", 422, "invalid_picture", /not a complete picture/],
      [
        Buffer.concat([aPng(), Buffer.alloc(bytesMax)]),
        "image/png",
        413,
        "payload_too_large",
        new RegExp(`at most ${bytesMax} bytes`),
      ],
    ];
    for (const [bytes, type, status, code, sentence] of bad) {
      const response = await put(bytes, type);
      expectErrorResponse(response, status, code);
      expect(response.json<{ message: string }>().message).to.match(sentence);
    }
    expect(await stateOf(api)).to.deep.equal(before);
    expect(await objectKeys()).to.have.length(1);
  });

  it("returns an uncacheable error if the object store fails", async () => {
    const address = await stored(aPng());
    const [key = ""] = await objectKeys();
    await api.deps.objectStore.client.removeObject(api.deps.objectStore.bucket, key);
    const response = await api.anonymous().get(new URL(address).pathname);
    expectErrorResponse(response, 503, "unavailable");
    expect([response.headers.get("cache-control"), response.headers.get("etag")]).to.deep.equal([
      "no-store",
      null,
    ]);
  });

  it("is shown again after a lost one is uploaded again", async () => {
    const bytes = aPng({ width: 1280, height: 720 });
    const { pathname } = new URL(await stored(bytes));
    const { client: minio, bucket } = api.deps.objectStore;
    for (const key of await objectKeys()) await minio.removeObject(bucket, key);
    expect((await api.anonymous().get(pathname)).status).to.equal(503);
    expect(new URL(await stored(bytes)).pathname).to.equal(pathname);
    expect((await api.anonymous().get(pathname)).status).to.equal(200);
  });

  it("is removed, and then the partner's thumbnail is shown again", async () => {
    const address = await stored(aPng());
    for (let round = 0; round < 2; round++)
      expect((await client.delete(`/api/partners/games/${game.slug}/picture`)).status).to.equal(204);
    expect(await shown()).to.include({ inList: "https://example.test/their-own.png", toPartner: null });
    await sweepLater();
    expect((await fetch(address)).status).to.equal(404);
    expect(await objectKeys()).to.be.empty;
  });

  it("is removed with its game, restored with it within 90 days, and deleted after them", async () => {
    const address = await stored(aPng());
    await client.delete(`/api/partners/games/${game.slug}`);
    expect((await fetch(address)).status).to.equal(404);
    await sweepLater();
    expect(await objectKeys()).to.have.length(1);
    expect((await client.post(`/api/partners/games/${game.slug}/restore`)).status).to.equal(200);
    expect(await shown()).to.include({ inList: address, toPartner: address });
    await client.delete(`/api/partners/games/${game.slug}`);
    await api.deps.postgres.pool.query(
      "UPDATE games SET deleted_at = now() - interval '91 days' WHERE id = $1",
      [game.id],
    );
    await sweepLater();
    expect(await objectKeys()).to.be.empty;
  });

  it("is removed if its process died while storing it, but not while it is being stored", async () => {
    const row = {
      gameId: game.id,
      sha256: "a".repeat(64),
      type: "image/png",
      sizeBytes: 3,
      width: 64,
      height: 64,
    };
    const { client: minio, bucket } = api.deps.objectStore;
    for (const id of ["died", "lives"]) {
      await api.deps.postgres.prisma.gamePicture.create({ data: { id, ...row } });
      await minio.putObject(bucket, `pictures/${game.id}/${id}`, "old");
    }
    await api.deps.postgres.pool.query(
      "UPDATE game_pictures SET superseded_at = now() - interval '11 minutes' WHERE id = 'died'",
    );
    await sweepPictures(api.deps);
    expect(await objectKeys()).to.deep.equal([`pictures/${game.id}/lives`]);
    expect(await api.deps.postgres.prisma.gamePicture.count({ where: { gameId: game.id } })).to.equal(1);
  });

  it("does not become current when the sweeper may be about to remove it", async () => {
    const { postgres } = api.deps;
    const row = {
      gameId: game.id,
      sha256: "a".repeat(64),
      type: "image/png",
      sizeBytes: 3,
      width: 64,
      height: 64,
    };
    const isCurrentAfter = async (seconds: number): Promise<boolean> => {
      const { id } = await postgres.prisma.gamePicture.create({
        data: { id: `${game.id}-${seconds}`, ...row, supersededAt: new Date(Date.now() - 1000 * seconds) },
      });
      return postgres.transaction((transaction) => updateCurrentPicture(transaction, game.id, id));
    };
    expect([await isCurrentAfter(300), await isCurrentAfter(599)]).to.deep.equal([true, false]);
    expect(await postgres.prisma.game.findUniqueOrThrow({ where: { id: game.id } })).to.include({
      pictureId: `${game.id}-300`,
    });
  });
});
