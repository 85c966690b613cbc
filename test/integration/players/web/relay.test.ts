import { expect } from "chai";
import type { Browser } from "playwright-core";
import layout from "../../../../games/testcard/layout.json" with { type: "json" };
import { NetworkPlayer } from "#test/support/network/networkPlayer.ts";
import { PlayNetwork } from "#test/support/network/playNetwork.ts";
import { imageBuildMs } from "#test/support/session/containers.ts";

const [red, green] = layout.cycle as [string, string];

/** The shortest of the scenarios in test/long/network. */
describe("a player behind a firewall that blocks UDP", function () {
  this.timeout(90_000);
  let playing: PlayNetwork;
  let browser: Browser;
  let player: NetworkPlayer;

  before(async function () {
    this.timeout(imageBuildMs);
    playing = await PlayNetwork.start(["turn:3478?transport=tcp"]);
    await playing.network.dropUdp();
    browser = await playing.launchBrowser();
    player = await NetworkPlayer.signIn(browser, playing, "relayed");
  });
  after(async function () {
    await player.close(this.currentTest?.state === "failed");
    await browser.close();
    await playing.stop();
  });

  // Over TCP, because Chromium's connectivity checks have a tie-breaker of zero there.
  it("plays through the relay with the credentials from the API", async () => {
    await player.play(playing);
    await player.game.waitForColor(layout.keyBlock, red);
    await player.game.press("KeyA");
    await player.game.waitForColor(layout.keyBlock, green);
    expect(await player.path()).to.deep.include({
      local: "relay",
      relayProtocol: "tcp",
      remote: playing.network.node.ipv4,
    });
    expect(await playing.relay.metric("joypod_turn_received_bytes_total")).to.be.above(10_000);
  });
});
