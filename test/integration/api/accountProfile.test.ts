import { expect } from "chai";
import type { AccountExport, AccountResponse } from "#contracts/http/account.ts";
import { limits } from "#contracts/limits.ts";
import { sweepDeletions } from "#api/accounts/profile/changeProfile.ts";
import { aGame, aGameSessionRow, aSaveSlot, aUser, type TestUser } from "#test/factories/catalog.ts";
import { aPng } from "#test/factories/pictures.ts";
import { FakeClock } from "#test/support/clocks/fakeClock.ts";
import { TestApi } from "#test/support/http/api.ts";
import { expectErrorResponse, type ApiClient, type ApiResponse } from "#test/support/http/apiClient.ts";
import { postSignIn } from "#test/support/http/authForms.ts";
import { MailServer, tokenIn } from "#test/support/mail/mailServer.ts";

const png = aPng({ width: 64, height: 64 }).toString("base64");

describe("the profile of an account", function () {
  this.timeout(60_000);
  let mail: MailServer;
  let clock: FakeClock;
  let api: TestApi;
  let user: TestUser;
  let browser: ApiClient;

  before(async () => {
    mail = await MailServer.start();
    clock = new FakeClock(new Date());
    api = await TestApi.start({ clock, env: mail.env });
  });
  after(async () => {
    await api.stop();
    await mail.stop();
  });
  beforeEach(async () => {
    await api.deps.redis.flushdb();
    user = await aUser(api.deps);
    browser = api.as(user);
  });
  afterEach(async () => {
    await api.deps.mailWork.settled();
    mail.mails.length = 0;
  });

  const account = async (): Promise<AccountResponse> =>
    (await browser.get("/api/account")).json<AccountResponse>();
  const dueNow = (): Promise<unknown> =>
    api.deps.postgres.pool.query("UPDATE users SET delete_at = now() - interval '1 second' WHERE id = $1", [
      user.id,
    ]);

  describe("asks for the password on an old sign-in", () => {
    const changes: Record<string, (fields: object) => Promise<ApiResponse>> = {
      "before the name is changed": (fields) => browser.put("/api/account/name", { name: "New", ...fields }),
      "before the picture is changed": (fields) =>
        browser.put("/api/account/picture", { picture: png, ...fields }),
      "before the picture is removed": (fields) => browser.post("/api/account/picture/remove", fields),
      "before the address is changed": (fields) =>
        browser.post("/api/account/email", { email: "elsewhere@example.test", ...fields }),
      "before the data is exported": (fields) => browser.post("/api/account/export", fields),
      "before the account is deleted": (fields) => browser.post("/api/account/delete", fields),
    };
    for (const [when, change] of Object.entries(changes)) {
      it(when, async () => {
        await browser.get("/api/account");
        await clock.advance(limits.auth.recentSignInSeconds * 1000);
        const before = await account();
        expectErrorResponse(await change({}), 403, "reauthentication_required");
        expectErrorResponse(
          await change({ currentPassword: "not this one" }),
          403,
          "reauthentication_required",
        );
        expect(await account()).to.deep.equal(before);
        const done = await change({ currentPassword: user.password });
        expect(done.status, done.text).to.be.oneOf([200, 204]);
      });
    }
  });

  it("changes the name, which the next response shows", async () => {
    expect((await browser.put("/api/account/name", { name: " Grace H. " })).status).to.equal(204);
    expect((await account()).name).to.equal("Grace H.");
    expect((await browser.get("/api/auth/session")).json()).to.have.nested.property("user.name", "Grace H.");
    for (const name of ["", " ", "a\nb"])
      expectErrorResponse(await browser.put("/api/account/name", { name }), 400, "invalid_request");
  });

  it("shows the player's picture, until it is replaced or removed", async () => {
    expect((await browser.put("/api/account/picture", { picture: png })).status).to.equal(204);
    const { picture, hasOwnPicture } = await account();
    expect(hasOwnPicture).to.equal(true);
    expect((await browser.get("/api/auth/session")).json()).to.have.nested.property("user.image", picture);
    const shown = await fetch(picture);
    expect(shown.headers.get("content-type")).to.equal("image/png");
    expect(shown.headers.get("x-content-type-options")).to.equal("nosniff");
    expect(Buffer.from(await shown.arrayBuffer()).toString("base64")).to.equal(png);
    await browser.put("/api/account/picture", {
      picture: aPng({ width: 32, height: 32 }).toString("base64"),
    });
    expect((await fetch(picture)).status).to.equal(404);
    expect((await browser.post("/api/account/picture/remove", {})).status).to.equal(204);
    expect(await account()).to.include({ picture: "", hasOwnPicture: false });
    for (const bad of [
      Buffer.from("<svg/>"),
      aPng({ width: 2000, height: 16 }),
      aPng({ width: 8, height: 8 }),
    ])
      expectErrorResponse(
        await browser.put("/api/account/picture", { picture: bad.toString("base64") }),
        422,
        "invalid_picture",
      );
  });

  it("changes the address once the new one is confirmed, and tells the former one", async () => {
    const email = `new-${user.email}`;
    expect((await browser.post("/api/account/email", { email: email.toUpperCase() })).status).to.equal(204);
    const token = tokenIn((await mail.next(email)).text);
    expect((await account()).email).to.equal(user.email);
    const confirm = (): Promise<ApiResponse> => api.anonymous().post("/api/auth/confirm-email", { token });
    expect((await confirm()).status).to.equal(204);
    expectErrorResponse(await confirm(), 404, "invalid_link");
    expect((await account()).email).to.equal(email);
    expect((await mail.next(user.email)).subject).to.equal("Your Joypod account has a new address");
    expect((await postSignIn(api.anonymous(), { ...user, email })).status).to.equal(200);
    expectErrorResponse(await postSignIn(api.anonymous(), user), 401, "invalid_credentials");
  });

  it("does not reveal or take an address that belongs to somebody else", async () => {
    const other = await aUser(api.deps);
    expect((await browser.post("/api/account/email", { email: other.email })).status).to.equal(204);
    expect((await mail.next(other.email)).text).to.contain("nothing has changed");
    const email = `free-${user.email}`;
    await browser.post("/api/account/email", { email });
    const token = tokenIn((await mail.next(email)).text);
    await aUser(api.deps, { email });
    expectErrorResponse(await api.anonymous().post("/api/auth/confirm-email", { token }), 409, "conflict");
    expect((await account()).email).to.equal(user.email);
  });

  it("exports everything that is stored about the player, and nothing of others", async () => {
    const [game, stranger] = [await aGame(api.deps), await aUser(api.deps)];
    await aGameSessionRow(api.deps, { user, game }, { status: "stopped", durationSeconds: 61 });
    await aSaveSlot(api.deps, { user: stranger, game, label: "Of a stranger" });
    await browser.post("/api/favorites", { gameId: game.id });
    await browser.put("/api/account/name", { name: "Exported" });
    const response = await browser.post("/api/account/export", {});
    expect(response.headers.get("content-disposition")).to.contain("attachment");
    const data = response.json<AccountExport>();
    expect(data.account).to.include({ id: user.id, email: user.email, name: "Exported", hasPassword: true });
    expect(data.favorites.map((one) => one.game)).to.deep.equal([game.slug]);
    expect(data.saves.map((one) => [one.game, one.download])).to.deep.equal([[game.slug, null]]);
    expect(data.gameSessions.map((one) => [one.game, one.playSeconds])).to.deep.equal([[game.slug, 61]]);
    expect(data.signIns).to.have.length(1);
    expect(data.events.map(({ action }) => action)).to.include("user.nameChanged");
    const { passwordHash } = await api.deps.postgres.prisma.user.findUniqueOrThrow({
      where: { id: user.id },
    });
    for (const hidden of [passwordHash ?? "", stranger.email, "Of a stranger"])
      expect(response.text).to.not.contain(hidden);
  });

  it("is deleted two weeks later with its saves, unless the player keeps it", async () => {
    const game = await aGame(api.deps);
    const { id: slotId } = await aSaveSlot(api.deps, { user, game });
    const { deleteAt } = (await browser.post("/api/account/delete", {})).json<{ deleteAt: string }>();
    expect((Date.parse(deleteAt) - Date.now()) / 86_400_000).to.be.closeTo(14, 0.1);
    expect((await account()).deleteAt).to.equal(deleteAt);
    expect((await mail.next(user.email)).subject).to.equal("Your Joypod account will be deleted");
    expect((await browser.post("/api/account/delete", {})).json()).to.deep.equal({ deleteAt });
    await sweepDeletions(api.deps);
    expect((await browser.post("/api/account/keep")).status).to.equal(204);
    expect((await account()).deleteAt).to.equal(null);

    await browser.post("/api/account/delete", {});
    await dueNow();
    const { id: sessionId } = await aGameSessionRow(api.deps, { user, game }, { slotId });
    await sweepDeletions(api.deps);
    expect(await account(), "waits for the running session").to.have.property("deleteAt");
    await api.deps.postgres.prisma.gameSession.update({
      where: { id: sessionId },
      data: { status: "stopped" },
    });
    await sweepDeletions(api.deps);
    expectErrorResponse(await browser.get("/api/account"), 401, "unauthorized");
    const { prisma } = api.deps.postgres;
    expect(await prisma.user.count({ where: { id: user.id } })).to.equal(0);
    expect(await prisma.saveSweep.findUnique({ where: { slotId } })).to.not.equal(null);
    expect(await prisma.auditEvent.count({ where: { subjectId: user.id, action: "user.deleted" } })).to.equal(
      1,
    );
  });

  it("keeps its address on a site without mail, with a sentence that says whom to ask", async () => {
    const site = await TestApi.start();
    try {
      const refused = await site
        .as(await aUser(site.deps))
        .post("/api/account/email", { email: "new@example.test" });
      expectErrorResponse(refused, 409, "no_mail");
      expect(refused.json()["message"]).to.contain("Ask the person who runs it");
    } finally {
      await site.stop();
    }
  });
});
