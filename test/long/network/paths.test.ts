import { expect } from "chai";
import type { Browser } from "playwright-core";
import layout from "../../../games/testcard/layout.json" with { type: "json" };
import type { StreamTicketResponse } from "#contracts/http/gameSessions.ts";
import { sessionIdOf } from "#test/support/browser/pages.ts";
import { WhepPlayer } from "#test/support/browser/whepPlayer.ts";
import { eventually } from "#test/support/clocks/eventually.ts";
import { NetworkPlayer } from "#test/support/network/networkPlayer.ts";
import { PlayNetwork } from "#test/support/network/playNetwork.ts";
import { imageBuildMs } from "#test/support/session/containers.ts";

const [red, green] = layout.cycle as [string, string];

describe("playing over simulated networks", function () {
  this.timeout(120_000);
  let playing: PlayNetwork;
  let browser: Browser;
  let player: NetworkPlayer;

  before(async function () {
    this.timeout(imageBuildMs);
    playing = await PlayNetwork.start();
  });
  after(() => playing.stop());

  async function enter(name: string, family?: "ipv4" | "ipv6"): Promise<void> {
    browser = await playing.launchBrowser(family);
    player = await NetworkPlayer.signIn(browser, playing, name);
    await player.play(playing);
  }
  afterEach(async function () {
    await player.close(this.currentTest?.state === "failed");
    await browser.close();
    await playing.network.restore();
    await playing.fixture.removePod();
  });

  /** Sees the game, and is heard by it. */
  async function plays(): Promise<void> {
    await player.game.waitForColor(layout.keyBlock, red);
    await player.game.press("KeyA");
    await player.game.waitForColor(layout.keyBlock, green);
  }

  it("connects directly to the game node if possible", async () => {
    await enter("direct");
    await plays();
    expect((await player.path())?.local).to.not.equal("relay");
  });

  it("uses the relay over UDP if the media ports are unreachable", async () => {
    await playing.network.dropDirectMedia();
    await enter("relayed by UDP");
    await plays();
    expect(await player.path()).to.include({
      local: "relay",
      relayProtocol: "udp",
      remote: playing.network.node.ipv4,
    });
  });

  it("uses the relay over TCP if UDP is blocked", async () => {
    await playing.network.dropUdp();
    await playing.network.drop("-i client -p tcp --dport 443");
    await enter("relayed by TCP");
    await plays();
    expect(await player.path()).to.include({ local: "relay", relayProtocol: "tcp" });
  });

  it("uses the relay over TLS on 443 if everything else is blocked", async () => {
    await playing.network.dropUdp();
    await playing.network.drop("-i client -p tcp --dport 3478");
    await enter("relayed by TLS");
    await plays();
    expect(await player.path()).to.include({ local: "relay", relayProtocol: "tls" });
  });

  it("uses the relay for a third-party WHEP player, from the Link headers of its response", async () => {
    await playing.network.dropDirectMedia();
    await enter("beside a WHEP player");
    const id = sessionIdOf(player.page);
    const body = JSON.stringify({ sessionId: id });
    const ticket = await player.page.evaluate<StreamTicketResponse>(
      `fetch("/api/game/stream-ticket", { method: "POST", headers: { "content-type": "application/json" }, body: ${JSON.stringify(body)} }).then((response) => response.json())`,
    );
    await player.page.goto("/"); // The page hangs up.
    const whep = await WhepPlayer.open(browser, playing.fixture.api.url);
    try {
      await whep.view(ticket);
      await whep.waitForColor(layout.keyBlock, red);
      await whep.press("KeyA");
      await whep.waitForColor(layout.keyBlock, green);
    } finally {
      await whep.close();
    }
  });

  it("continues within three seconds when the player's address changes", async () => {
    await enter("another address");
    await plays();
    await playing.network.moveClient();
    const backMs = await player.showsMore(10, 15_000);
    expect(backMs).to.be.below(3_000);
  });

  it("reconnects automatically after thirty seconds without a network", async () => {
    await enter("no network");
    await plays();
    await playing.network.plugClient(false);
    await player.page.getByText("Connection lost. Reconnecting…").waitFor({ timeout: 30_000 });
    // What is tested is that so long a time passes.
    await new Promise((resolve) => setTimeout(resolve, 30_000));
    await playing.network.plugClient(true);
    await player.game.waitUntilPlaying(20_000);
    await eventually(async () => (await player.path())?.state === "connected", { timeoutMs: 20_000 });
    await player.showsMore(30, 10_000);
  });

  it("uses the relay for a player who has only IPv6", async () => {
    await playing.network.dropDirectMedia();
    await playing.network.dropClientIpv4();
    await enter("IPv6", "ipv6");
    await plays();
    expect(await player.path()).to.include({ local: "relay", remote: playing.network.node.ipv4 });
  });
});
