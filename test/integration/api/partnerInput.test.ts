import { expect } from "chai";
import { createServer, type AddressInfo, type Server } from "node:net";
import { aUser } from "#test/factories/catalog.ts";
import { anArchive } from "#test/support/fixtures/archives.ts";
import { eventually } from "#test/support/clocks/eventually.ts";
import { UploadFixture } from "#test/support/fixtures/uploadFixture.ts";

const path = "/api/partners/games";

/** Partners write addresses and names; what the platform does must not follow from them. */
describe("a game's metadata", function () {
  this.timeout(60_000);
  let fixture: UploadFixture;
  let canary: Server;
  let calls = 0;

  before(async () => {
    fixture = await UploadFixture.start({});
    canary = createServer((socket) => {
      calls += 1;
      socket.destroy();
    });
    await new Promise<void>((resolve) => canary.listen(0, "127.0.0.1", resolve));
  });
  beforeEach(() => fixture.newGame());
  after(async () => {
    await new Promise((resolve) => canary.close(resolve));
    await fixture.stop();
  });

  it("is never fetched as a URL, from registration to the end of a session", async () => {
    const { client, api, operator } = fixture;
    const address = `https://localhost:${(canary.address() as AddressInfo).port}/canary`;
    const addresses = { thumbnail: address, screenshots: [address], website: address };
    const title = `Canary ${fixture.partner.keyId}`;
    const created = await client.post(path, {
      title,
      developer: "Test Studio",
      launcher: "play.sh",
      engineDir: "engine",
      ...addresses,
    });
    expect(created.status, created.text).to.equal(201);
    const { id, slug } = created.json<{ id: string; slug: string }>();
    expect(
      (await client.patch(`${path}/${slug}`, { ...addresses, description: `See ${address}` })).status,
    ).to.equal(200);
    expect(
      (await client.put(`${path}/${slug}/upload`, await anArchive(), { "content-type": "application/gzip" }))
        .status,
    ).to.equal(200);
    await eventually(async () => (await operator.cache(slug)) !== undefined, {
      what: "the cache to be asked for",
    });
    expect((await client.get(`${path}/${slug}/sync`)).status).to.equal(200);

    const player = api.as(await aUser(api.deps));
    expect(
      (await player.get("/api/games?search=canary")).json<{ games: { thumbnail: string }[] }>().games[0]
        ?.thumbnail,
    ).to.equal(address);
    expect((await player.get(`/api/games/${slug}`)).status).to.equal(200);
    expect((await player.post("/api/favorites", { gameId: id })).status).to.be.below(300);
    const launched = await player.post("/api/game/launch", { gameSlug: slug });
    expect(launched.status, launched.text).to.equal(202);
    const { sessionId } = launched.json<{ sessionId: string }>();
    await operator.makeReady(sessionId);
    await operator.finish(sessionId);
    expect((await client.delete(`${path}/${slug}`)).status).to.equal(204);
    expect(calls).to.equal(0);
    await fetch(address).catch(() => undefined);
    expect(calls, "calls that the canary counts").to.be.above(0);
  });

  it("is not part of any object's name: a version's consists of ids", async () => {
    const words = {
      launcher: "play.sh",
      engineDir: "engine",
      title: "..%2f..%2fsaves",
      slug: `saves-${fixture.partner.keyId}`,
    };
    const created = await fixture.client.post(path, { developer: "../../saves", ...words });
    expect(created.status, created.text).to.equal(201);
    expect(
      (
        await fixture.client.put(`${path}/${words.slug}/upload`, await anArchive(), {
          "content-type": "application/gzip",
        })
      ).status,
    ).to.equal(200);
    const { gameId, objectKey } = await fixture.api.deps.postgres.prisma.gameVersion.findFirstOrThrow({
      where: { game: { slug: words.slug } },
    });
    const id = "[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}";
    expect(objectKey).to.match(new RegExp(`^archives/${gameId}/${id}\\.tar\\.gz$`));
    expect(gameId).to.match(new RegExp(`^${id}$`));
  });
});
