import { expect } from "chai";
import type { Browser } from "playwright-core";
import { NetworkPlayer } from "#test/support/network/networkPlayer.ts";
import { PlayNetwork } from "#test/support/network/playNetwork.ts";
import { imageBuildMs } from "#test/support/session/containers.ts";

/** Both ways one after the other, of which one may wait for its deadline. */
const testMs = 40_000;

/** A result that was stored in the browser. */
interface Stored {
  direct: { state: string };
  relay: { state: string; figures?: { roundTripMs: number; loss: number; bandwidthKbps?: number } };
}

describe("the test of a player's connection over simulated networks", function () {
  this.timeout(120_000);
  let playing: PlayNetwork;
  let browser: Browser;
  let player: NetworkPlayer;

  before(async function () {
    this.timeout(imageBuildMs);
    playing = await PlayNetwork.start();
  });
  after(() => playing.stop());

  beforeEach(async function () {
    browser = await playing.launchBrowser();
    player = await NetworkPlayer.signIn(browser, playing, this.currentTest?.title ?? "tester");
  });
  afterEach(async function () {
    await player.close(this.currentTest?.state === "failed");
    await browser.close();
    await playing.network.restore();
  });

  /** Runs the test on the game's page; returns what was kept of it and what it says. */
  async function testConnection(): Promise<Stored & { says: string }> {
    const region = player.page.getByRole("region", { name: "Your connection" });
    await region.getByRole("button", { name: "Test my connection" }).click();
    await region.getByText("Tested just now").waitFor({ timeout: testMs });
    const stored = await player.page.evaluate<Stored>(
      "JSON.parse(localStorage.getItem('joypod.connectionTest'))",
    );
    return { ...stored, says: await region.getByRole("status").innerText() };
  }

  it("finds that both paths work without obstacles", async () => {
    const { direct, relay, says } = await testConnection();
    expect({ direct: direct.state, relay: relay.state }).to.deep.equal({ direct: "works", relay: "works" });
    expect(relay.figures, "the bandwidth is measured on the way that a game would take").to.not.have.property(
      "bandwidthKbps",
    );
    expect(says).to.not.include("relay");
  });

  for (const { way, block } of [
    { way: "UDP where none reaches the media ports", block: () => playing.network.dropDirectMedia() },
    { way: "TCP where no UDP gets out", block: () => playing.network.dropUdp() },
  ]) {
    it(`measures the relay over ${way}`, async () => {
      await block();
      const { direct, relay, says } = await testConnection();
      expect({ direct: direct.state, relay: relay.state }).to.deep.equal({
        direct: "blocked",
        relay: "works",
      });
      expect(relay.figures?.bandwidthKbps).to.be.above(4_000);
      expect(says).to.include("Games will play through a relay");
    });
  }

  it("reports that no games can be played if the relay is unreachable too", async () => {
    await playing.network.dropUdp();
    for (const port of [3478, 443]) await playing.network.drop(`-i client -p tcp --dport ${port}`);
    const { direct, relay, says } = await testConnection();
    expect({ direct: direct.state, relay: relay.state }).to.deep.equal({
      direct: "blocked",
      relay: "blocked",
    });
    expect(says).to.include("Games will not play here");
  });
});
