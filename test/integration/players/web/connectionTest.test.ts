import { expect } from "chai";
import type { Browser, Locator, Page } from "playwright-core";
import { aGame, aUser } from "#test/factories/catalog.ts";
import { launchBrowserShell, openWindow, type TestWindow } from "#test/support/browser/browser.ts";
import { olderBrowser } from "#test/support/browser/otherBrowsers.ts";
import { openSignedIn } from "#test/support/browser/pages.ts";
import { buildWeb } from "#test/support/browser/web.ts";
import { eventually } from "#test/support/clocks/eventually.ts";
import { TestApi } from "#test/support/http/api.ts";
import { TestResponder } from "#test/support/session/testResponder.ts";

const testMs = 25_000;
const limitKbps = 6_000;

/**
 * Cancels a test in the page after the page has noticed the end of the burst, while it waits for the last
 * packets.
 */
const cancelAfter = (burst: string): string => `(() => {
  const { createDataChannel } = RTCPeerConnection.prototype;
  RTCPeerConnection.prototype.createDataChannel = function (...options) {
    const channel = createDataChannel.apply(this, options);
    channel.addEventListener("message", ({ data }) => {
      if (typeof data !== "string" || JSON.parse(data).burst !== "${burst}") return;
      setTimeout(() => [...document.querySelectorAll("button")].find(({ textContent }) => textContent === "Cancel the test").click());
    });
    return channel;
  };
})()`;

/** A result stored in the browser. */
interface Stored {
  direct: {
    state: string;
    figures?: { roundTripMs: number; loss: number; bandwidthKbps: number; limitKbps: number };
  };
  relay: { state: string };
  decoders: { codec: string }[];
}

describe("the connection test", function () {
  this.timeout(60_000);
  let responder: TestResponder;
  let api: TestApi;
  let browser: Browser;
  let tab: TestWindow;
  let page: Page;

  before(async function () {
    this.timeout(120_000);
    responder = await TestResponder.start({ env: { MAX_KBPS: String(limitKbps) } });
    api = await TestApi.start({ env: { WEB_ROOT: await buildWeb(), ...responder.apiEnv } });
    await aGame(api.deps, { slug: "alpha", title: "Alpha" });
    browser = await launchBrowserShell();
  });
  after(async () => {
    await browser.close();
    await api.stop();
    await responder.stop();
  });

  beforeEach(async function () {
    responder.way.limit(undefined);
    responder.way.lose(0);
    tab = await openWindow(browser, {
      baseUrl: api.url,
      name: this.currentTest?.fullTitle() ?? "connection",
    });
    ({ page } = tab);
    await openSignedIn(page, api, await aUser(api.deps), "/games/alpha");
  });
  afterEach(async function () {
    await tab.close({ failed: this.currentTest?.state === "failed" });
  });

  const region = (): Locator => page.getByRole("region", { name: "Your connection" });
  const figure = (name: string): Locator =>
    region()
      .locator("div", { has: page.getByRole("term").getByText(name, { exact: true }) })
      .getByRole("definition");

  /** Runs the test with the keyboard, and returns the stored result. */
  async function testConnection(): Promise<Stored> {
    const start = region().getByRole("button", { name: /^Test my connection/ });
    await start.focus();
    await page.keyboard.press("Enter");
    await region().getByRole("status").getByText("Connecting directly to a game server").waitFor();
    await region().getByText("Tested just now").waitFor({ timeout: testMs });
    return page.evaluate<Stored>("JSON.parse(localStorage.getItem('joypod.connectionTest'))");
  }

  /** Offers the page a relay that does not exist. */
  async function offerRelay(): Promise<void> {
    await page.route("**/api/stream/ice-servers", (route) =>
      route.fulfill({
        json: {
          iceServers: [
            { urls: ["turn:127.0.0.1:9?transport=udp"], username: "player", credential: "secret" },
          ],
          expiresInSeconds: 600,
        },
      }),
    );
  }

  /** Makes all servers busy after the test of the direct path. */
  async function leaveRelayUntested(): Promise<void> {
    let offers = 0;
    await page.route("**/api/stream/connection-tests", (route) =>
      ++offers === 1 ? route.continue() : route.fulfill({ status: 503, json: { error: "no_servers" } }),
    );
  }

  it("can be cancelled without a result", async () => {
    await region().getByRole("button", { name: "Test my connection" }).click();
    await region().getByRole("status").getByText("Counting lost packets").waitFor();
    await region().getByRole("button", { name: "Cancel the test" }).click();
    await region().getByRole("button", { name: "Test my connection" }).waitFor();
    expect(await page.evaluate("localStorage.getItem('joypod.connectionTest')")).to.equal(null);
  });

  for (const burst of ["loss", "bandwidth"]) {
    it(`can be cancelled without a result right after the ${burst} burst`, async () => {
      await page.evaluate(cancelAfter(burst));
      await region().getByRole("button", { name: "Test my connection" }).click();
      await region().getByRole("button", { name: "Cancel the test" }).waitFor();
      await region()
        .getByRole("button", { name: /^Test my connection/ })
        .waitFor({ timeout: testMs });
      expect(await page.evaluate("localStorage.getItem('joypod.connectionTest')")).to.equal(null);
    });
  }

  it("reports that another test of the same player interrupted it, and nothing about the network", async () => {
    const second = await tab.context.newPage();
    await second.goto("/games/alpha");
    const start = second.getByRole("button", { name: "Test my connection" });
    await start.waitFor();
    await region().getByRole("button", { name: "Test my connection" }).click();
    await region().getByRole("status").getByText("Counting lost packets").waitFor();
    await start.click();
    await region().getByRole("status").getByText("The test was interrupted").waitFor();
    expect(await page.evaluate("localStorage.getItem('joypod.connectionTest')")).to.equal(null);
    await second.close();
  });

  it("measures the direct path and the relay, and keeps the result for the account page", async () => {
    await offerRelay();
    const { direct, relay, decoders } = await testConnection();
    expect(direct.state).to.equal("works");
    expect(relay.state, "only the relay, which does not exist, was tried").to.equal("blocked");
    expect(direct.figures?.loss).to.be.within(0, 1);
    expect(direct.figures?.roundTripMs).to.be.above(0);
    expect(direct.figures?.bandwidthKbps)
      .to.be.above(0)
      .and.at.most(1.1 * limitKbps);
    expect(decoders.map(({ codec }) => codec)).to.include("vp8");
    expect(await figure("Direct (UDP)").textContent()).to.equal("Works");
    expect(await figure("Relay (TURN)").textContent()).to.equal("Blocked");
    expect(await figure("Bandwidth").textContent()).to.match(/bit\/s/);
    await page.getByRole("link", { name: "Your account" }).click();
    await region().getByText("Tested just now").waitFor();
  });

  it("keeps the result of the direct path if no server is free to test the relay", async () => {
    await offerRelay();
    await leaveRelayUntested();
    const { direct, relay } = await testConnection();
    expect({ direct: direct.state, relay: relay.state }).to.deep.equal({
      direct: "works",
      relay: "untested",
    });
    expect(direct.figures?.bandwidthKbps).to.be.above(0);
    await region().getByRole("status").getByText("Games will play").waitFor();
    expect(await figure("Relay (TURN)").textContent()).to.equal("Not tested");
  });

  it("has no result if the direct path is blocked and no server is free to test the relay", async () => {
    responder.way.lose(1);
    await offerRelay();
    await leaveRelayUntested();
    await region().getByRole("button", { name: "Test my connection" }).click();
    await region()
      .getByRole("status")
      .getByText("Other players are testing their connections right now.")
      .waitFor({ timeout: testMs });
    expect(await page.evaluate("localStorage.getItem('joypod.connectionTest')")).to.equal(null);
  });

  it("works in older browsers, which are assumed to decode the codecs that all browsers decode", async () => {
    await page.addInitScript(olderBrowser);
    await page.reload();
    const { direct, decoders } = await testConnection();
    expect(direct.state).to.equal("works");
    expect(direct.figures?.bandwidthKbps).to.be.above(0);
    expect(decoders.map(({ codec }) => codec)).to.have.members(["h264", "vp8"]);
  });

  it("measures a loss of one packet in twenty", async () => {
    responder.way.lose(0.05);
    const { direct } = await testConnection();
    expect(direct.figures?.loss).to.be.within(0.01, 0.1);
    await region().getByRole("status").getByText("of the packets get lost").waitFor();
  });

  it("reports that games do not play on a network without UDP, and suggests what to try", async () => {
    responder.way.lose(1);
    const { direct, relay } = await testConnection();
    expect(direct.state).to.equal("blocked");
    expect(relay.state, "no relay here").to.equal("absent");
    const status = region().getByRole("status");
    await status.getByText("Games will not play here").waitFor();
    await status.getByText("Use another network").waitFor();
    expect(await figure("Direct (UDP)").textContent()).to.equal("Blocked");
  });

  it("ignores results from another day or another network", async () => {
    const works = { state: "works", figures: { roundTripMs: 9, loss: 0 } };
    const kept = {
      testedAt: new Date().toISOString(),
      network: "unknown",
      direct: works,
      relay: { state: "absent" },
      decoders: [],
    };
    const showWith = async (change: object): Promise<void> => {
      await page.evaluate(
        `localStorage.setItem("joypod.connectionTest", ${JSON.stringify(JSON.stringify({ ...kept, ...change }))})`,
      );
      await page.reload();
    };
    await showWith({});
    await region().getByRole("button", { name: "Test my connection again" }).waitFor();
    for (const change of [
      { testedAt: new Date(Date.now() - 25 * 3_600_000).toISOString() },
      { network: "cellular" },
      { direct: {} },
    ]) {
      await showWith(change);
      await region().getByRole("button", { name: "Test my connection", exact: true }).waitFor();
      expect(await region().getByText("Tested").count()).to.equal(0);
    }
  });

  it("reports that no server can test connections", async () => {
    await responder.stopProgram();
    await region().getByRole("button", { name: "Test my connection" }).click();
    await region()
      .getByRole("status")
      .getByText("No game server can test your connection right now. You can still play.")
      .waitFor();
    await eventually(() => region().getByRole("button", { name: "Test my connection" }).isEnabled(), {
      what: "another try",
    });
  });
});
