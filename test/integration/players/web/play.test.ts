import { expect } from "chai";
import type { Browser, Page } from "playwright-core";
import layout from "../../../../games/testcard/layout.json" with { type: "json" };
import { aGame, aUser } from "#test/factories/catalog.ts";
import { launchBrowser, openWindow, type TestWindow } from "#test/support/browser/browser.ts";
import { eventually } from "#test/support/clocks/eventually.ts";
import { openSignedIn, pressPlay, sessionIdOf } from "#test/support/browser/pages.ts";
import { WhepPlayer } from "#test/support/browser/whepPlayer.ts";
import { PlayerHttp } from "#test/support/http/playerHttp.ts";
import type { FakeOperator } from "#test/support/cluster/fakeOperator.ts";
import { PlayPage } from "#test/support/browser/playPage.ts";
import { PlayFixture } from "#test/support/fixtures/playFixture.ts";
import { imageBuildMs } from "#test/support/session/containers.ts";
import type { SessionPair } from "#test/support/session/sessionPair.ts";

const [red, green, blue, yellow] = layout.cycle as [string, string, string, string];

/** Returns whether the browser would ask before it closes the page. */
const isAskedBeforeLeaving = `!dispatchEvent(new Event("beforeunload", { cancelable: true }))`;

describe("playing on the page", function () {
  this.timeout(90_000);
  let fixture: PlayFixture;
  let operator: FakeOperator;
  let browser: Browser;
  let tab: TestWindow;
  let page: Page;
  let game: PlayPage;
  let pair: SessionPair;

  before(async function () {
    this.timeout(imageBuildMs);
    fixture = await PlayFixture.start();
    ({ operator } = fixture);
    browser = await launchBrowser();
  });
  after(async () => {
    await browser.close();
    await fixture.stop();
  });

  beforeEach(async function () {
    tab = await openWindow(browser, {
      baseUrl: fixture.api.url,
      name: this.currentTest?.fullTitle() ?? "play",
    });
    ({ page } = tab);
    game = await PlayPage.on(page);
    await openSignedIn(page, fixture.api, await aUser(fixture.api.deps), "/games/testcard");
  });
  afterEach(async function () {
    await Promise.all([tab.close({ failed: this.currentTest?.state === "failed" }), fixture.leavePod()]);
  });

  /** Presses Play, lets the session run as the operator would, and returns its id. */
  async function play(): Promise<string> {
    const id = await pressPlay(page);
    pair = await fixture.letRun(id);
    await game.waitUntilPlaying();
    return id;
  }

  it("shows the stages of the launch, which can be cancelled", async () => {
    await page.getByRole("button", { name: "Play", exact: true }).click();
    await page
      .getByRole("listitem")
      .filter({ hasText: "Finding a server" })
      .and(page.locator("[aria-current=step]"))
      .waitFor();
    await page.getByRole("button", { name: "Cancel" }).click();
    const id = sessionIdOf(page);
    await eventually(async () => (await operator.session(id)).spec.desiredState === "Stopped");
    await operator.finish(id);
    await page.getByRole("heading", { name: "See you soon" }).waitFor();
  });

  it("connects while the session starts, but shows no picture and sends no input until it runs", async () => {
    pair = await fixture.letConnect(await pressPlay(page));
    await eventually(async () => (await game.frames()) > 0, { timeoutMs: 30_000, what: "a decoded frame" });
    await game.press("KeyA");
    expect(
      await page.locator("[data-phase=launching]").getByRole("button", { name: "Cancel" }).isVisible(),
    ).to.equal(true);
    expect(await page.getByRole("toolbar").count()).to.equal(0);
    await fixture.letRun(sessionIdOf(page));
    await game.waitUntilPlaying();
    await game.waitForColor(layout.keyBlock, red);
    expect((await pair.status()).connections).to.equal(1);
    await game.press("KeyA");
    await game.waitForColor(layout.keyBlock, green);
  });

  it("shows the game and sends keys, pointer and wheel to it", async () => {
    await play();
    await game.waitForColor(layout.keyBlock, red);
    await game.press("KeyA");
    await game.waitForColor(layout.keyBlock, green);
    await game.moveTo(300, 650);
    await game.waitForColor({ x: 292, y: 642, width: 16, height: 16 }, layout.pointer.color, {
      tolerance: 70,
    });
    await page.mouse.down();
    await page.mouse.up();
    await game.waitForColor(layout.clickBlock, "#ffffff");
    await page.mouse.wheel(0, 100);
    await game.waitForColor(layout.wheelBlock, green);
  });

  it("releases held keys when the window loses focus", async () => {
    await play();
    await page.keyboard.down("KeyA");
    await game.waitForColor(layout.heldBlock, "#ffffff");
    await page.evaluate("window.dispatchEvent(new Event('blur'))");
    await game.waitForColor(layout.heldBlock, "#202020");
  });

  it("releases held keys when the page loses the focus without an event", async () => {
    await play();
    await page.keyboard.down("KeyA");
    await game.waitForColor(layout.heldBlock, "#ffffff");
    await page.evaluate("document.hasFocus = () => false");
    await game.waitForColor(layout.heldBlock, "#202020");
  });

  it("frees the seat two minutes after the page was closed, unless the player returns", async () => {
    const id = await play();
    const secondsLeft = async (): Promise<number> => {
      const { expiresAt } = await fixture.api.deps.postgres.prisma.gameSession.findUniqueOrThrow({
        where: { id },
      });
      return (Number(expiresAt) - Date.now()) / 1_000;
    };
    const playPage = page.url();
    expect(await secondsLeft()).to.be.above(300);
    await page.goto("about:blank");
    await eventually(async () => (await secondsLeft()) < 121, { what: "the seat to be freed soon" });
    await page.goto(playPage);
    await game.waitUntilPlaying();
    expect(await secondsLeft()).to.be.above(300);
    await page.reload();
    await game.waitUntilPlaying();
    expect(await secondsLeft(), "after a reload").to.be.above(300);
  });

  it("continues after a reload and after a lost connection", async () => {
    await play();
    await game.press("KeyA");
    await game.waitForColor(layout.keyBlock, green);
    await page.reload();
    await game.waitUntilPlaying();
    await game.waitForColor(layout.keyBlock, green);
    await pair.freezeStreamer(true);
    await page.getByText("Connection lost. Reconnecting…").waitFor({ timeout: 40_000 });
    await pair.freezeStreamer(false);
    await game.waitUntilPlaying();
    await page.getByTestId("game-surface").focus();
    await game.press("KeyB");
    await game.waitForColor(layout.keyBlock, blue);
  });

  it("runs in one window at a time and moves only on request", async () => {
    await play();
    const other = await openWindow(browser, { baseUrl: fixture.api.url, name: "the other window" });
    try {
      await other.context.addCookies(await tab.context.cookies());
      await other.page.goto("/");
      await other.page.getByRole("link", { name: "Resume Test card" }).click();
      await other.page.getByText("Playing in another tab").waitFor();
      await other.page.getByRole("button", { name: "Play here" }).click();
      await other.page.locator('[data-phase="playing"]').waitFor();
      await page.getByRole("button", { name: "Take it back" }).click();
      await game.waitUntilPlaying();
      await other.page.getByText("You moved to another tab").waitFor();
    } finally {
      await other.close({ failed: false });
    }
  });

  it("unlocks the pointer when the game moves to another window", async () => {
    await play();
    await game.openControl("Lock pointer");
    await eventually(() => page.evaluate<boolean>("document.pointerLockElement !== null"), {
      what: "a locked pointer",
    });
    const other = await openWindow(browser, { baseUrl: fixture.api.url, name: "the window that takes over" });
    try {
      await other.context.addCookies(await tab.context.cookies());
      await other.page.goto(new URL(page.url()).pathname);
      await other.page.getByRole("button", { name: "Play here" }).click();
      await other.page.locator('[data-phase="playing"]').waitFor();
      await page.getByRole("button", { name: "Take it back" }).click();
      await game.waitUntilPlaying();
      expect(await page.evaluate<boolean>("document.pointerLockElement === null")).to.equal(true);
    } finally {
      await other.close({ failed: false });
    }
  });

  it("shows connection statistics", async () => {
    await play();
    await game.openControl("Statistics");
    await eventually(async () => {
      const shown = await page.getByTestId("stream-statistics").innerText();
      expect(shown)
        .to.match(/1280 × 720/)
        .and.match(/[1-9]\d* per second/)
        .and.match(/[1-9]\d* kbit\/s/)
        .and.match(/H264/)
        .and.match(/x264enc/);
      return true;
    });
  });

  it("changes the quality during play with only the keyboard, and keeps it for the next game", async () => {
    const id = await play();
    const size = () => page.evaluate<{ width: number; height: number }>("joypodProbe.size()");
    expect(await size()).to.include({ width: 1280, height: 720 });
    await page.keyboard.press("Control+Alt+KeyM");
    for (let control = 0; control < 4; control += 1) await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
    await page.getByRole("radio", { name: "Auto" }).and(page.locator(":focus")).waitFor();
    await page.getByText("at most 780 MB per hour").waitFor();
    for (let preset = 0; preset < 3; preset += 1) await page.keyboard.press("ArrowDown");
    await page
      .getByTestId("quality-now")
      .filter({ hasText: "Data saver: 854 × 480, up to 30 frames per second" })
      .waitFor();
    await eventually(async () => (await size()).width === 854, { what: "a picture of data saver's size" });
    await page.keyboard.press("Escape");
    await page.getByRole("group", { name: "Picture quality" }).first().waitFor({ state: "detached" });
    await eventually(
      async () => {
        await game.press("KeyA");
        return (await game.color({ x: 427, y: 240, width: 20, height: 20 }))[0] < 80;
      },
      { intervalMs: 500, what: "an effect of a key" },
    );
    expect((await pair.status()).connections).to.equal(1);
    const kept = await page.evaluate<{ quality: object }>(
      "fetch('/api/account/stream-quality').then((response) => response.json())",
    );
    expect(kept.quality).to.deep.equal({ preset: "dataSaver" });
    expect((await operator.session(id)).spec.stream.quality).to.include({ preset: "Auto" });
  });

  it("applies a quality that was chosen while disconnected after reconnecting, and keeps the menu open", async () => {
    await play();
    await pair.freezeStreamer(true);
    await page.getByText("Connection lost. Reconnecting…").waitFor({ timeout: 40_000 });
    await game.openControl("Quality");
    await page.getByRole("radio", { name: "Data saver" }).check();
    await pair.freezeStreamer(false);
    await game.waitUntilPlaying();
    await eventually(
      async () => (await page.evaluate<{ width: number }>("joypodProbe.size()")).width === 854,
      { timeoutMs: 20_000, what: "a small picture" },
    );
    expect(
      await page.getByRole("radio", { name: "Data saver" }).and(page.locator(":focus")).isVisible(),
    ).to.equal(true);
  });

  it("turns the view equally far in small and large pictures while the pointer is locked", async () => {
    await play();
    await game.openControl("Quality");
    await page.getByRole("radio", { name: "Data saver" }).check();
    await eventually(
      async () => (await page.evaluate<{ width: number }>("joypodProbe.size()")).width === 854,
      { what: "a small picture" },
    );
    await page.keyboard.press("Escape");
    const scale = 854 / 1280;
    const pointerAt = (x: number, y: number) =>
      game.waitForColor(
        { x: (x - 8) * scale, y: (y - 8) * scale, width: 16 * scale, height: 16 * scale },
        layout.pointer.color,
        { tolerance: 100 },
      );
    await game.openControl("Lock pointer");
    await eventually(() => page.evaluate<boolean>("document.pointerLockElement !== null"), {
      what: "a locked pointer",
    });
    // Move into the corner first, so that the distances are known.
    for (const [movementX, movementY] of [
      [-2000, -2000],
      [300, 650],
    ]) {
      await page.evaluate(
        `document.pointerLockElement.dispatchEvent(new PointerEvent("pointermove", ${JSON.stringify({ movementX, movementY, isPrimary: true })}))`,
      );
    }
    await pointerAt(300, 650);
  });

  it("shows the game in a third-party WHEP player with a ticket and no cookie, and accepts input unless it only watches", async () => {
    const http = PlayerHttp.of(page);
    const id = await http.launch("testcard");
    pair = await fixture.letRun(id);
    const player = await WhepPlayer.open(browser, fixture.api.url);
    try {
      await player.view(await http.streamTicket(id, "watch"));
      await player.waitForColor(layout.keyBlock, red);
      await player.press("KeyA");
      await player.hangUp();
      await eventually(async () => (await pair.status()).viewers === 0, {
        what: "the end of the connection",
      });
      await player.view(await http.streamTicket(id));
      await player.waitForColor(layout.keyBlock, red);
      await player.press("KeyA");
      await player.waitForColor(layout.keyBlock, green);
      expect(await player.page.context().cookies()).to.deep.equal([]);
    } finally {
      await player.close();
    }
  });

  it("moves the keyboard focus to the controls and back", async () => {
    await play();
    await page.keyboard.press("Control+Alt+KeyM");
    await page.keyboard.press("Tab");
    await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
    await page.getByRole("button", { name: "Unmute" }).waitFor();
    // The game received the two modifiers before the chord was complete. Afterwards it has the keyboard
    // again.
    await game.press("KeyA");
    await game.waitForColor(layout.keyBlock, yellow);
  });

  it("moves the keyboard focus to the controls while the pointer is locked, and unlocks it", async () => {
    await play();
    await game.openControl("Lock pointer");
    await eventually(() => page.evaluate<boolean>("document.pointerLockElement !== null"), {
      what: "a locked pointer",
    });
    await page.keyboard.press("Control+Alt+KeyM");
    await page.getByRole("button", { name: "Full screen" }).and(page.locator(":focus")).waitFor();
    expect(await page.evaluate<boolean>("document.pointerLockElement === null")).to.equal(true);
  });

  it("moves the keyboard focus to the controls at the moment when the pointer is locked", async () => {
    await play();
    await page.evaluate(`(async () => {
      const surface = document.querySelector("[data-testid=game-surface]");
      await surface.requestPointerLock();
      surface.dispatchEvent(new KeyboardEvent("keydown", { code: "KeyM", ctrlKey: true, altKey: true }));
    })()`);
    await page.getByRole("button", { name: "Full screen" }).and(page.locator(":focus")).waitFor();
    expect(await page.evaluate<boolean>("document.pointerLockElement === null")).to.equal(true);
  });

  it("asks before stopping, then shows the session's resource usage", async () => {
    const id = await play();
    expect(await page.evaluate(isAskedBeforeLeaving), "while the game is played").to.equal(true);
    const shown = game.stop();
    await eventually(async () => (await operator.session(id)).spec.desiredState === "Stopped");
    await operator.finish(id, {
      usage: { durationSeconds: 63, cpuSeconds: 12.5, peakMemoryBytes: 200 * 2 ** 20 },
    });
    expect(await shown).to.deep.equal({ duration: "1 min 3 s", cpuSeconds: 12.5, peakMemoryMb: 200 });
    await page.getByRole("button", { name: "Play again" }).waitFor();
    expect(await page.evaluate(isAskedBeforeLeaving), "after the game").to.equal(false);
  });

  it("reports that the game could not be stopped, and continues", async () => {
    const id = await play();
    await page.route("**/api/game/stop", (route) =>
      route.fulfill({ status: 503, json: { error: "unavailable", message: "The database is unavailable." } }),
    );
    await game.openControl("Stop");
    await page.getByRole("button", { name: "Save and stop" }).click();
    await page
      .getByRole("alert")
      .filter({
        hasText:
          "The game keeps running, because it could not be stopped. Joypod is not available right now.",
      })
      .waitFor();
    await game.waitUntilPlaying();
    expect((await operator.session(id)).spec.desiredState).to.not.equal("Stopped");
    await page.unroute("**/api/game/stop");
    const shown = game.stop();
    await eventually(async () => (await operator.session(id)).spec.desiredState === "Stopped");
    await operator.finish(id, { usage: { durationSeconds: 5, cpuSeconds: 1, peakMemoryBytes: 2 ** 26 } });
    await shown;
  });

  it("shows why the session ended when the game exits", async () => {
    const id = await play();
    await game.press(Object.keys(layout.exitKeys)[0] ?? "");
    await page.getByText("The game has ended. Saving your progress…").waitFor();
    await operator.finish(id, {
      stopReason: "GameExited",
      usage: { durationSeconds: 5, cpuSeconds: 1, peakMemoryBytes: 2 ** 26 },
    });
    await page.getByRole("heading", { name: "The game has ended" }).waitFor({ timeout: 30_000 });
    await page.getByTestId("stop-statistics").waitFor();
  });

  it("offers to resume or stop the game that is already running", async () => {
    const id = await play();
    await aGame(fixture.api.deps, { slug: `second-${id}`, title: "Second game" });
    await page.goto(`/games/second-${id}`);
    await page.getByRole("button", { name: "Play", exact: true }).click();
    await page.getByRole("dialog", { name: "You are already playing" }).getByText("Test card").waitFor();
    await page.getByRole("button", { name: "Stop it and start this one" }).click();
    const stopping = page.getByRole("button", { name: "Saving and stopping…" });
    await stopping.waitFor();
    await page.keyboard.press("Escape");
    expect(await stopping.isVisible(), "the pending action stays visible").to.equal(true);
    await eventually(async () => (await operator.session(id)).spec.desiredState === "Stopped");
    await operator.finish(id, { usage: { durationSeconds: 5, cpuSeconds: 1, peakMemoryBytes: 2 ** 26 } });
    await page.getByRole("heading", { name: "Second game" }).and(page.locator("#launch-title")).waitFor();
  });
});
