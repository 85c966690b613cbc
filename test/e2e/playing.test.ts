import { expect } from "chai";
import { conditionStatus } from "#contracts/crd/sessionState.ts";
import { eventually } from "#test/support/clocks/eventually.ts";
import { launchBrowser } from "#test/support/browser/browser.ts";
import { TestCard } from "#test/support/browser/testCard.ts";
import { WhepPlayer } from "#test/support/browser/whepPlayer.ts";
import { PlayerHttp } from "#test/support/http/playerHttp.ts";
import { expectPlausible } from "./support/gamePage.ts";
import { publishTestCard } from "./support/games.ts";
import { platform, sessionsNamespace } from "./support/platform.ts";
import { playersOfSuite } from "./support/players.ts";
import { operatorTicket, streamerUrl } from "./support/streamerAccess.ts";

describe("playing a game", () => {
  const players = playersOfSuite();
  let title: string;
  let slug: string;

  before(async () => {
    ({ title, slug } = await publishTestCard());
  });

  it("shows the game, accepts input, stays alive, stops with statistics, and continues from the save", async () => {
    const { game } = await players.signIn();
    await game.openGame(title);
    const kept = game.page.waitForResponse((response) => response.url().endsWith("/api/game/keepalive"), {
      timeout: 120_000,
    });
    await game.startNewGame(1);
    const card = new TestCard(game);
    await card.showsPresses(0);

    await game.pressKey("Space", 5);
    await card.showsPresses(5);
    await game.click(150, 360);
    await eventually(() => card.isClickLit(), { what: "the click to show" });
    const keepalive = await kept;
    expect(keepalive.status()).to.equal(200);
    expect(Date.parse(((await keepalive.json()) as { expiresAt: string }).expiresAt)).to.be.greaterThan(
      Date.now(),
    );

    expectPlausible(await game.stop(), { minMemoryMb: 50 });
    await game.openGame(title);
    await game.continueSlot(1);
    await card.showsPresses(5);
  });

  it("continues in the same pod after a reload, with held keys released", async () => {
    const { game } = await players.signIn();
    await game.openGame(title);
    await game.startNewGame(1);
    const card = new TestCard(game);
    await card.showsPresses(0);
    await game.pressKey("Space", 3);
    await card.showsPresses(3);
    const { gameSessions, pods } = await platform();
    const ref = { namespace: sessionsNamespace, name: game.sessionId() };
    const before = await gameSessions.get(ref);
    await game.page.keyboard.down("KeyA");
    await eventually(() => card.isKeyHeld(), { what: "the key to be held" });

    await game.page.reload();
    await game.seesPicture();
    await card.showsPresses(4);
    await eventually(async () => !(await card.isKeyHeld()), { what: "the key to be released" });
    await game.pressKey("Space");
    await card.showsPresses(5);
    expect((await pods.get(ref)).metadata.uid).to.equal(before.status?.podRef?.uid);
  });

  it("works in a third-party WHEP player with a ticket and without a cookie", async () => {
    const { game } = await players.signIn();
    const http = PlayerHttp.of(game.page);
    const id = await http.launch(slug);
    await http.whenRunning(id);
    const browser = await launchBrowser();
    try {
      const player = await WhepPlayer.open(browser, (await platform()).baseUrl);
      await player.view(await http.streamTicket(id));
      const card = new TestCard(player);
      await card.showsPresses(0);
      await player.press("Space");
      await card.showsPresses(1);
      expect(await player.page.context().cookies()).to.deep.equal([]);
    } finally {
      await browser.close();
    }
  });

  it("requires a ticket for offers and status at the pod", async () => {
    const { game } = await players.signIn();
    const http = PlayerHttp.of(game.page);
    const id = await http.launch(slug);
    await http.whenRunning(id);
    // The API's pod is let through by the policies, so that it is the streamer that refuses.
    const ask = `const [url, ticket] = process.argv.slice(1);
const statusOf = async (path, options) => (await fetch(url + path, options)).status;
console.log(await statusOf("/whep", { method: "POST", headers: { "content-type": "application/sdp" }, body: "v=0" }), await statusOf("/status"),
  await statusOf("/metrics"), await statusOf("/readyz"), await statusOf("/status", { headers: { authorization: "Bearer " + ticket } }));`;
    const printed = await (await platform()).inApiPod(ask, await streamerUrl(id), await operatorTicket(id));
    expect(printed.trim()).to.equal("401 401 401 200 200");
  });

  it("serves two players on two nodes", async () => {
    const [first, second] = [await players.signIn(), await players.signIn()];
    for (const { game } of [first, second]) {
      await game.openGame(title);
      await game.startNewGame(1);
    }
    const installed = await platform();
    const sessions = await Promise.all([first, second].map(({ userId }) => installed.gameSessionOf(userId)));
    expect(new Set(sessions.map((session) => session?.status?.nodeName)).size, "nodes").to.equal(2);
    const card = new TestCard(second.game);
    await card.showsPresses(0);
    await second.game.pressKey("Space", 2);
    await card.showsPresses(2);
    await new TestCard(first.game).showsPresses(0);
    for (const session of sessions) expect(session && conditionStatus(session, "Ready")).to.equal("True");
  });
});
