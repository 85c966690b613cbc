import { expect } from "chai";
import { ReceivedSave, SaveLinkResponse, SharedSave } from "#contracts/http/saveLinks.ts";
import { limits } from "#contracts/limits.ts";
import { aSaveSlot, aUser, type TestUser } from "#test/factories/catalog.ts";
import { aSavePicture } from "#test/factories/pictures.ts";
import { SavesFixture } from "#test/support/fixtures/savesFixture.ts";
import { expectErrorResponse, type ApiClient } from "#test/support/http/apiClient.ts";

describe("links to saves", function () {
  this.timeout(60_000);
  let fixture: SavesFixture;
  let slotId: string;
  let version: { id: string; objectKey: string; archive: Buffer };
  let receiver: TestUser;
  let other: ApiClient;

  before(async () => {
    fixture = await SavesFixture.start({ game: { title: "Moon" } });
  });
  beforeEach(async () => {
    await fixture.launches.newPlayer();
    slotId = await fixture.aSlot();
    version = await fixture.aVersion(slotId, "a moment");
    receiver = await aUser(fixture.api.deps, { name: "Grace" });
    other = fixture.api.as(receiver);
  });
  after(() => fixture.stop());

  const links = (id = version.id): string => `${fixture.path}/${slotId}/versions/${id}/links`;
  const prisma = () => fixture.api.deps.postgres.prisma;

  async function create(id = version.id): Promise<string> {
    const response = await fixture.player.post(links(id));
    expect(response.status, response.text).to.equal(201);
    return new URL(SaveLinkResponse.parse(response.json()).url).hash.slice(1);
  }
  const show = (token: string, client = other) => client.post("/api/save-links/show", { token });
  const receive = (token: string, client = other, headers: Record<string, string> = {}) =>
    client.post("/api/save-links/receive", { token }, headers);

  async function slotsOf(client: ApiClient) {
    const { slots } = (await client.get(fixture.path)).json<Awaited<ReturnType<SavesFixture["saves"]>>>();
    return slots;
  }

  it("name the sender first, and give one other player one copy with its picture", async () => {
    await fixture.aPicture(slotId, version.objectKey);
    const token = await create();
    const offer = SharedSave.parse((await show(token)).json());
    expect(offer).to.deep.include({
      sender: { name: fixture.user.name },
      isOwn: false,
      game: { slug: fixture.game.slug, title: "Moon", thumbnail: "" },
      picture: `data:image/jpeg;base64,${aSavePicture().toString("base64")}`,
    });
    const response = await receive(token);
    expect(response.status, response.text).to.equal(201);
    const { gameSlug, slot } = ReceivedSave.parse(response.json());
    expect(gameSlug).to.equal(fixture.game.slug);
    const [first] = await slotsOf(other);
    expect(first).to.deep.equal(slot);
    expect(first).to.include({ slotNumber: 1, label: "Playthrough 1", state: "free" });
    const [copy] = slot.versions;
    expect(copy).to.include({ kind: "imported", isCurrent: true });
    const archive = await other.get(`${fixture.path}/${slot.id}/versions/${copy!.id}/archive`);
    expect(Number(archive.headers.get("content-length"))).to.equal(version.archive.length);
    expect(copy).to.have.property("pictureId");
    const third = fixture.api.as(await aUser(fixture.api.deps));
    for (const client of [other, third]) {
      expectErrorResponse(await show(token, client), 404, "not_found");
      expectErrorResponse(await receive(token, client), 404, "not_found");
    }
    expect((await fixture.slot(slotId)).versions).to.have.length(1);
  });

  it("are stored as digests, and recorded in the audit trail without their token", async () => {
    const token = await create();
    await receive(token);
    const rows = await prisma().saveLink.findMany();
    expect(JSON.stringify(rows)).to.not.include(token);
    await fixture.api.deps.audit.settled();
    const events = await prisma().auditEvent.findMany({
      where: {
        action: { in: ["saveLink.created", "saveLink.used"] },
        actorId: { in: [fixture.user.id, receiver.id] },
      },
      orderBy: { id: "asc" },
    });
    expect(events.map(({ action, actorId }) => [action, actorId])).to.deep.equal([
      ["saveLink.created", fixture.user.id],
      ["saveLink.used", receiver.id],
    ]);
    expect(JSON.stringify(events.map(({ details }) => details))).to.not.include(token);
    expect(fixture.api.logLines.join("\n")).to.not.include(token);
  });

  it("give one copy to concurrent requests, and the same response to a repeated one", async () => {
    const token = await create();
    const third = fixture.api.as(await aUser(fixture.api.deps));
    const statuses = (await Promise.all([receive(token), receive(token, third)])).map(({ status }) => status);
    expect(statuses.toSorted()).to.deep.equal([201, 404]);
    const again = await create();
    const headers = { "idempotency-key": "the-same" };
    const fourth = fixture.api.as(await aUser(fixture.api.deps));
    const first = await receive(again, fourth, headers);
    const second = await receive(again, fourth, headers);
    expect([first.status, second.status]).to.deep.equal([201, 201]);
    expect(second.text).to.equal(first.text);
    const used = (await slotsOf(fourth)).filter(({ id }) => id !== null);
    expect(used).to.have.length(1);
  });

  it("still work after a refusal for lack of an empty slot, and leave nothing of it", async () => {
    const token = await create();
    for (let number = 1; number <= limits.saveSlotsPerGame; number++)
      await aSaveSlot(fixture.api.deps, { user: receiver, game: fixture.game, number });
    expectErrorResponse(await receive(token), 409, "no_empty_slot");
    const [first] = await slotsOf(other);
    await other.delete(`${fixture.path}/${first?.id ?? ""}`);
    expect((await receive(token)).status).to.equal(201);
  });

  it("expire, and end with a new link for the version, the slot, and the sender's account", async () => {
    const expired = await create();
    await prisma().saveLink.updateMany({ data: { expiresAt: new Date(Date.now() - 1_000) } });
    expectErrorResponse(await show(expired), 404, "not_found");
    expectErrorResponse(await receive(expired), 404, "not_found");
    const replaced = await create();
    const current = await create();
    expectErrorResponse(await show(replaced), 404, "not_found");
    expect((await show(current)).status).to.equal(200);
    await prisma().user.update({ where: { id: fixture.user.id }, data: { disabledAt: new Date() } });
    expectErrorResponse(await show(current), 404, "not_found");
    await prisma().user.update({ where: { id: fixture.user.id }, data: { disabledAt: null } });
    expect((await show(current)).status).to.equal(200);
    await fixture.player.delete(`${fixture.path}/${slotId}`);
    expectErrorResponse(await show(current), 404, "not_found");
  });

  it("show nothing of a game that is restricted to groups of others, or hidden", async () => {
    const token = await create();
    const where = { id: fixture.game.id };
    for (const [change, back] of [
      [{ isRestricted: true }, { isRestricted: false }],
      [{ hiddenAt: new Date() }, { hiddenAt: null }],
    ] as const) {
      await prisma().game.update({ where, data: change });
      expectErrorResponse(await show(token), 404, "not_found");
      expectErrorResponse(await receive(token), 404, "not_found");
      await prisma().game.update({ where, data: back });
    }
    expect((await show(token)).status).to.equal(200);
  });

  it("are limited: the oldest end beyond the maximum", async () => {
    const { kept } = limits.save.link;
    const tokens = [await create()];
    for (let number = 0; number < kept; number++)
      tokens.push(await create((await fixture.aVersion(slotId, `later ${number}`, { kind: "conflict" })).id));
    expect(await prisma().saveLink.count({ where: { userId: fixture.user.id } })).to.equal(kept);
    expectErrorResponse(await show(tokens[0]!), 404, "not_found");
    expect((await show(tokens.at(-1)!)).status).to.equal(200);
  });

  it("of one's own are shown, and copy nothing", async () => {
    const token = await create();
    expect((await show(token, fixture.player)).json<SharedSave>().isOwn).to.equal(true);
    expectErrorResponse(await receive(token, fixture.player), 409, "conflict");
    expect((await show(token)).status).to.equal(200);
  });

  it("are refused for others' saves, a slot in use, and without a sign-in", async () => {
    expectErrorResponse(await other.post(links()), 404, "not_found");
    expectErrorResponse(await fixture.player.post(links("none")), 404, "not_found");
    const anonymous = fixture.api.anonymous();
    expectErrorResponse(await anonymous.post(links()), 401, "unauthorized");
    expectErrorResponse(await show("x".repeat(43), anonymous), 401, "unauthorized");
    expectErrorResponse(await show("short"), 400, "invalid_request");
    expectErrorResponse(await show("x".repeat(43)), 404, "not_found");
    await fixture.launches.launched({ saveSlotId: slotId });
    expectErrorResponse(await fixture.player.post(links()), 409, "slot_in_use");
  });

  it("are limited in number per hour, and guesses per minute", async () => {
    const { createdPerHour, readsPerMinute } = limits.save.link;
    for (let number = 0; number < createdPerHour; number++) await create();
    expectErrorResponse(await fixture.player.post(links()), 429, "rate_limited");
    for (let number = 0; number < readsPerMinute; number++)
      expectErrorResponse(await show("x".repeat(43)), 404, "not_found");
    expectErrorResponse(await show("x".repeat(43)), 429, "rate_limited");
  });
});
