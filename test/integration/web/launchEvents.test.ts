import { expect } from "chai";
import type { Browser, Page, Route } from "playwright-core";
import { announcementConfigMap } from "#contracts/announcement.ts";
import { saveReasons } from "#contracts/crd/gameSessionReasons.ts";
import { limits } from "#contracts/limits.ts";
import { configMaps } from "#kube/api/builtin.ts";
import { ResourceClient } from "#kube/client/resourceClient.ts";
import { aGame, aSaveSlot, aUser } from "#test/factories/catalog.ts";
import { aCondition } from "#test/factories/gameSession.ts";
import type { TestApi } from "#test/support/http/api.ts";
import { expectAccessible } from "#test/support/browser/accessibility.ts";
import { launchBrowserShell, openWindow, type TestWindow } from "#test/support/browser/browser.ts";
import { eventually } from "#test/support/clocks/eventually.ts";
import { LaunchFixture } from "#test/support/fixtures/launchFixture.ts";
import { heldEvents } from "#test/support/browser/otherBrowsers.ts";
import { openSignedIn, pressPlay, sessionIdOf, signInBeside } from "#test/support/browser/pages.ts";
import type { FakeOperator } from "#test/support/cluster/fakeOperator.ts";
import { buildWeb } from "#test/support/browser/web.ts";

const statusPath = "/api/game/session-status";
const eventsPath = "/api/game/events";
const keepalivePath = "/api/game/keepalive";
const idleTimeoutMs = limits.gameSession.idleTimeoutSeconds * 1_000;

describe("a launch on the play page", function () {
  this.timeout(90_000);
  let fixture: LaunchFixture;
  let api: TestApi;
  let operator: FakeOperator;
  let browser: Browser;
  let tab: TestWindow;
  let page: Page;
  let asked: string[];

  before(async () => {
    fixture = await LaunchFixture.start({
      env: { WEB_ROOT: await buildWeb() },
      game: { slug: "followed", title: "Followed" },
    });
    ({ api, operator } = fixture);
    browser = await launchBrowserShell();
  });
  beforeEach(async function () {
    tab = await openWindow(browser, { baseUrl: api.url, name: this.currentTest?.fullTitle() ?? "launch" });
    ({ page } = tab);
    asked = [];
    page.on("request", (request) => asked.push(new URL(request.url()).pathname));
  });
  afterEach(async function () {
    await tab.close({ failed: this.currentTest?.state === "failed" });
  });
  after(async () => {
    await browser.close();
    await fixture.stop();
  });

  async function play(): Promise<string> {
    await openSignedIn(page, api, await aUser(api.deps), "/games/followed");
    return pressPlay(page);
  }

  function keepalives(): number {
    return asked.filter((path) => path === keepalivePath).length;
  }

  /** Launches the game; its page has sent a keepalive while it started, and one when it ran. */
  async function playing(): Promise<string> {
    let answered = 0;
    page.on("requestfinished", (request) => {
      if (new URL(request.url()).pathname === keepalivePath) answered++;
    });
    const id = await play();
    await eventually(() => answered === 1, { what: "the keepalive of the start" });
    await operator.makeReady(id);
    await eventually(() => answered === 2, { what: "the keepalive of the game" });
    await page.getByRole("toolbar").waitFor();
    return id;
  }

  async function expectProgress(id: string): Promise<void> {
    const passed = [aCondition("Scheduled")];
    for (const [next, title] of [
      ["ContentReady", "Getting the game"],
      ["SaveRestored", "Restoring your save"],
      ["PodReady", "Starting the game"],
    ] as const) {
      await operator.report(id, { nodeName: "node-a", conditions: passed });
      await page.locator("[aria-current=step]").filter({ hasText: title }).waitFor();
      passed.push(aCondition(next));
    }
    await operator.finish(id, {
      stopReason: "Failed",
      failure: { reason: "StartTimeout", message: "it took too long" },
    });
    await page.getByText("The game could not be started").first().waitFor();
  }

  it("follows the event stream and rarely polls", async () => {
    const id = await play();
    await eventually(() => asked.includes(eventsPath) && api.deps.gameSessionEvents.followers === 1);
    const began = performance.now();
    await expectProgress(id);
    expect(asked.filter((path) => path === statusPath).length).to.be.at.most(
      3 + (performance.now() - began) / 10_000,
    );
    await eventually(() => api.deps.gameSessionEvents.followers === 0);
    expect(asked.filter((path) => path === eventsPath)).to.have.length(1);
  });

  it("polls when the event stream is blocked", async () => {
    await page.route(`**${eventsPath}*`, (route) =>
      route.fulfill({ status: 502, contentType: "text/html", body: "" }),
    );
    await expectProgress(await play());
    expect(asked.filter((path) => path === statusPath).length).to.be.above(2);
  });

  it("polls when a proxy holds the events back", async () => {
    await page.addInitScript(heldEvents);
    const id = await play();
    await eventually(() => asked.filter((path) => path === statusPath).length > 4, {
      timeoutMs: 30_000,
      what: "several polls",
    });
    await operator.finish(id);
  });

  it("reports a long launch even if the browser's clock is wrong", async () => {
    await page.clock.install({ time: Date.now() + 3_600_000 });
    await play();
    await page.getByRole("listitem").filter({ hasText: "Finding a server" }).waitFor();
    await page.clock.runFor(10_000);
    expect(await page.getByText("This takes longer than usual.").count()).to.equal(0);
    await page.clock.runFor(22_000);
    await page.getByText("This takes longer than usual.").waitFor();
  });

  it("warns before a session without keepalives stops, even if the browser's clock is wrong", async () => {
    await page.clock.install({ time: Date.now() - 3_600_000 });
    const id = await playing();
    await page.route("**/api/game/keepalive", (route) => route.abort());
    await page.clock.fastForward(idleTimeoutMs - 2 * 60_000);
    const warning = page.getByRole("alert").filter({ hasText: /saved and stopped in (2:0\d|1:\d\d) / });
    await warning.waitFor();
    // In one step, because the next status that the page reads has the real time.
    expect(
      await page.evaluate(`(() => {
        const alerts = [...document.querySelectorAll("[role=alert]")];
        const { x, y } = alerts.find(({ textContent }) => textContent.includes("saved and stopped")).getBoundingClientRect();
        return document.elementFromPoint(x + 20, y + 20).closest("[role=alert]");
      })()`),
      "what takes a click there",
    ).to.equal(null);
    await operator.finish(id);
  });

  it("asks whether the player is still there, and sends keepalives only while somebody plays", async () => {
    await page.addInitScript(`
      window.sounds = 0;
      window.OscillatorNode = class extends OscillatorNode { start(time) { window.sounds++; super.start(time); } };
    `);
    await page.clock.install();
    const id = await playing();
    const before = keepalives();
    await page.clock.runFor(3 * 60_000);
    expect(keepalives(), "without input").to.equal(before);
    await page.clock.fastForward(idleTimeoutMs - 7.5 * 60_000);
    const warning = page.getByRole("alert").filter({ hasText: "Are you still there?" });
    await warning.filter({ hasText: /saved and stopped in 4:\d\d / }).waitFor();
    expect(await page.title()).to.match(/^4:\d\d Still there\? Followed/);
    expect(await page.evaluate("sounds")).to.equal(2);
    await page.clock.runFor(4 * 60_000);
    await warning.filter({ hasText: /saved and stopped in 0:\d\d / }).waitFor();
    expect(await page.evaluate("sounds"), "a minute before").to.equal(4);
    await page.mouse.move(200, 200);
    await page.mouse.move(210, 210);
    await warning.waitFor({ state: "detached" });
    expect(keepalives()).to.equal(before + 1);
    expect(await page.title()).to.match(/^Followed/);
    await operator.finish(id);
  });

  it("shows an end that an admin has planned, which can be hidden until it is near, and announcements", async () => {
    const id = await play();
    await operator.makeReady(id);
    await page.getByRole("toolbar").waitFor();
    const ref = { name: id, namespace: api.kube!.sessionsNamespace };
    const planEnd = (minutes: number) =>
      operator.sessions.mergePatch(ref, {
        spec: {
          plannedEnd: {
            at: new Date(Date.now() + minutes * 60_000).toISOString(),
            reason: "Maintenance",
            message: "New disks.",
          },
        },
      });
    await planEnd(20);
    const notice = page.getByRole("alert").filter({ hasText: "Maintenance begins soon" });
    await notice.filter({ hasText: "stopped in 20 min." }).filter({ hasText: "New disks." }).waitFor();
    await page.getByRole("button", { name: "OK", exact: true }).click();
    await notice.waitFor({ state: "detached" });
    await planEnd(4.9);
    await notice.filter({ hasText: /stopped in 4:\d\d/ }).waitFor();
    expect(await page.title()).to.match(/^4:\d\d left: Followed/);
    await operator.sessions.mergePatch(ref, { spec: { plannedEnd: null } });
    await notice.waitFor({ state: "detached" });

    const configMap = { namespace: api.deps.config.cluster.releaseNamespace, name: announcementConfigMap };
    const client = new ResourceClient(api.kube!.server.admin, configMaps);
    await client.create({ metadata: configMap, data: { message: "Tournament at 20:00!" } });
    await page.getByRole("status").filter({ hasText: "Tournament at 20:00!" }).waitFor();
    await client.delete(configMap);
    await page.getByText("Tournament at 20:00!").waitFor({ state: "detached" });
    await operator.finish(id);
  });

  it("says while the last save is stored that an admin has ended the session", async () => {
    const id = await play();
    await operator.makeReady(id);
    await page.getByRole("toolbar").waitFor();
    await operator.sessions.delete({ name: id, namespace: api.kube!.sessionsNamespace });
    await page.getByRole("alert").filter({ hasText: "Ended by an administrator" }).waitFor();
    await page.getByText("Saving your progress…").waitFor();
    await expectAccessible(page);
    await operator.finish(id, { stopReason: "Deleted" });
    await page.getByRole("heading", { name: "Ended by an administrator" }).waitFor();
  });

  it("frees the seat when its page closes or shows another one while the game starts, but not when it is reloaded", async () => {
    const { leaveGraceSeconds } = limits.gameSession;
    const secondsLeft = async (id: string): Promise<number> =>
      ((await fixture.rowOf(id)).expiresAt!.getTime() - Date.now()) / 1000;
    const isLeft = async (id: string): Promise<boolean> => (await secondsLeft(id)) <= leaveGraceSeconds;
    const id = await play();
    await eventually(() => keepalives() === 1);
    await page.reload();
    await eventually(async () => keepalives() === 2 && !(await isLeft(id)), { what: "the reloaded page" });
    await page.goBack();
    await eventually(() => isLeft(id), { what: "the report of a page that shows another one" });
    await page.getByRole("link", { name: "Resume" }).click();
    await eventually(async () => !(await isLeft(id)), { what: "the player who returned" });
    await page.close({ runBeforeUnload: false });
    await eventually(() => isLeft(id), { what: "the report of the page that closed" });
    await operator.finish(id);
  });

  it("sends a keepalive when the player or the network returns", async () => {
    const id = await playing();
    for (const news of [["focus"], ["offline", "online"]]) {
      const before = keepalives();
      await eventually(
        async () => {
          await page.keyboard.press("Shift");
          for (const name of news) await page.evaluate(`dispatchEvent(new Event("${name}"))`);
          return keepalives() > before;
        },
        { intervalMs: 500, what: `a keepalive at ${news.join()}` },
      );
    }
    await operator.finish(id);
  });

  it("reports for some seconds that the game could not be stopped, next to the notice about its saves", async () => {
    await page.clock.install();
    const id = await play();
    await operator.makeReady(id);
    await page.getByRole("toolbar").waitFor();
    const { conditions = [] } = (await operator.session(id)).status ?? {};
    await operator.report(id, {
      conditions: [
        ...conditions,
        aCondition("SavePersisted", { status: "False", reason: saveReasons.saveTooLarge }),
      ],
    });
    const lack = page.getByRole("alert").filter({ hasText: "Your save is too large to be stored" });
    await lack.waitFor();
    await page.route("**/api/game/stop", (route) =>
      route.fulfill({ status: 503, json: { error: "unavailable", message: "The database is unavailable." } }),
    );
    await page.getByRole("button", { name: "Stop", exact: true }).press("Enter");
    await page.getByRole("button", { name: "Save and stop" }).click();
    const failure = page
      .getByRole("alert")
      .filter({ hasText: "The game keeps running, because it could not be stopped." });
    await failure.waitFor();
    expect(await lack.isVisible()).to.equal(true);
    await page.clock.runFor(10_000);
    await failure.waitFor({ state: "detached" });
    expect(await lack.isVisible()).to.equal(true);
    await operator.finish(id);
  });

  it("reports once, and not with every attempt, that the session cannot be reached", async () => {
    await page.route(`**${statusPath}*`, (route) =>
      route.fulfill({ status: 503, json: { error: "unavailable", message: "The database is unavailable." } }),
    );
    await page.route(`**${eventsPath}*`, (route) =>
      route.fulfill({ status: 502, contentType: "text/html", body: "" }),
    );
    await page.clock.install();
    await play();
    const problem = page.getByRole("alert").filter({ hasText: "Your session could not be reached" });
    await problem.waitFor();
    await page.evaluate("document.querySelector('[role=alert]').setAttribute('data-first', 'yes')");
    const tries = asked.filter((path) => path === statusPath).length;
    await eventually(
      async () => {
        await page.clock.runFor(5_000);
        return asked.filter((path) => path === statusPath).length > tries + 2;
      },
      { what: "more tries" },
    );
    expect(await problem.getAttribute("data-first")).to.equal("yes");
    await page.unroute(`**${statusPath}*`);
    await page.getByRole("button", { name: "Try again" }).click();
    await page.getByRole("listitem").filter({ hasText: "Finding a server" }).waitFor();
  });

  it("starts with a share of the bandwidth from the connection test", async () => {
    const result = {
      testedAt: new Date().toISOString(),
      network: "unknown",
      relay: { state: "absent" },
      decoders: [],
      direct: { state: "works", figures: { roundTripMs: 9, loss: 0, bandwidthKbps: 5_000 } },
    };
    await page.addInitScript(
      `localStorage.setItem("joypod.connectionTest", ${JSON.stringify(JSON.stringify(result))})`,
    );
    const id = await play();
    expect((await operator.session(id)).spec.stream.quality).to.include({
      preset: "Auto",
      startBitrateKbps: 3_000,
    });
    await operator.finish(id);
  });

  it("shows the API's message when the game cannot be launched", async () => {
    const { title } = await aGame(api.deps, { slug: "online", title: "Online" });
    await api.deps.postgres.prisma.game.update({ where: { slug: "online" }, data: { network: "internet" } });
    await openSignedIn(page, api, await aUser(api.deps), "/games/online");
    await page.getByRole("heading", { name: title, level: 1 }).waitFor();
    await page.getByRole("button", { name: "Play", exact: true }).click();
    await page.getByRole("alert").filter({ hasText: "This game needs internet access" }).waitFor();
  });

  it("retries with the chosen slot", async () => {
    const user = await aUser(api.deps);
    const slots = [];
    for (const number of [2, 1]) slots.push(await aSaveSlot(api.deps, { user, game: fixture.game, number }));
    await openSignedIn(page, api, user, "/games/followed");
    for (const [choice, slotId] of [
      ["Continue slot 2", slots[0]?.id],
      ["New game in slot 3", undefined],
    ] as const) {
      await page.goto("/games/followed");
      await page.getByRole("button", { name: choice }).click();
      await page.waitForURL("**/play/**");
      const failed = new URL(page.url()).pathname;
      await operator.finish(sessionIdOf(page), {
        stopReason: "Failed",
        failure: { reason: "StartTimeout", message: "it took too long" },
      });
      await fixture.ended(sessionIdOf(page));
      await page.getByRole("button", { name: "Try again" }).click();
      await page.waitForURL((url) => url.pathname.startsWith("/play/") && url.pathname !== failed);
      const row = await fixture.rowOf(sessionIdOf(page));
      const { number } = await api.deps.postgres.prisma.saveSlot.findUniqueOrThrow({
        where: { id: row.slotId! },
      });
      expect({ number, isKnown: row.slotId === slotId }, choice).to.deep.equal({
        number: slotId === undefined ? 3 : 2,
        isKnown: slotId !== undefined,
      });
      await operator.finish(sessionIdOf(page));
      await fixture.ended(sessionIdOf(page));
    }
  });

  it("starts a new game if the slot to continue belongs to a launch that never ran", async () => {
    const held = new Array<Route>();
    await page.route("**/assets/PlayPage-*.js", (route) => void held.push(route));
    const first = await play();
    await eventually(() => held.length > 0, { what: "the play page to be asked for" });
    await page.goBack();
    // The page that never went shows the slot that the launch has made.
    await page.getByRole("button", { name: "Continue playing" }).click();
    for (const route of held) await route.continue();
    await page.unroute("**/assets/PlayPage-*.js");
    await page.getByRole("button", { name: "Stop it and start this one" }).click();
    await eventually(async () => (await operator.session(first)).spec.desiredState === "Stopped");
    await operator.finish(first);
    await page.waitForURL("**/play/**");
    const next = sessionIdOf(page);
    expect(next).to.not.equal(first);
    await operator.finish(next);
  });

  it("is shown after an upgrade that removed files of the open page", async () => {
    let refused = 0;
    await page.route("**/assets/PlayPage-*.js", (route) =>
      refused++ === 0 ? route.fulfill({ status: 404, body: "" }) : route.continue(),
    );
    const id = await play();
    await page.locator("#launch-title").waitFor();
    expect(refused).to.equal(2);
    await operator.finish(id);
  });

  it("stays at its end after a stop, before the status reports it", async () => {
    const held = new Array<Route>();
    let isStopped = false;
    await page.route(`**${eventsPath}*`, (route) =>
      route.fulfill({ status: 502, contentType: "text/html", body: "" }),
    );
    await page.route(`**${statusPath}*`, (route) => (isStopped ? void held.push(route) : route.continue()));
    await page.route("**/api/game/stop", async (route) => {
      const response = await route.fetch();
      isStopped = ((await response.json()) as { status: string }).status === "stopped";
      await route.fulfill({ response });
    });
    const id = await play();
    await operator.makeReady(id);
    await page.getByRole("button", { name: "Stop", exact: true }).press("Enter");
    await page.getByRole("button", { name: "Save and stop" }).click();
    await eventually(async () => (await operator.session(id)).spec.desiredState === "Stopped");
    await operator.finish(id);
    await eventually(() => held.length > 0, { what: "the status to be asked for after the stop" });
    await page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))");
    expect([
      await page.getByRole("toolbar").count(),
      await page.getByText("Saving your progress…").isVisible(),
    ]).to.deep.equal([0, true]);
    isStopped = false;
    for (const route of held) await route.continue();
    await page.getByRole("heading", { name: "See you soon" }).waitFor();
  });

  it("reports that Joypod does not answer while saving, with links to other pages", async () => {
    await page.route(`**${eventsPath}*`, (route) => route.abort());
    const id = await play();
    await operator.makeReady(id);
    await operator.report(id, { phase: "Stopping", stoppingAt: new Date().toISOString() });
    await page.getByText("Saving your progress…").waitFor();
    await page.route(`**${statusPath}*`, (route) => route.abort());
    await page.getByRole("alert").filter({ hasText: "Joypod did not answer" }).waitFor();
    for (const name of ["Back to the game", "All games"])
      expect(await page.getByRole("link", { name, exact: true }).isVisible(), name).to.equal(true);
    await page.unroute(`**${statusPath}*`);
    await operator.finish(id);
    await page.getByRole("heading", { name: "See you soon" }).waitFor();
  });

  it("is hidden once another player has signed in in another tab", async () => {
    const id = await play();
    await operator.makeReady(id);
    await page.getByRole("toolbar").waitFor();
    await signInBeside(tab, await aUser(api.deps));
    await page.getByRole("heading", { name: "This session is over" }).waitFor();
    await operator.finish(id);
  });

  it("is shown in a browser without storage", async () => {
    await page.addInitScript(`
      for (const name of ["localStorage", "sessionStorage"]) {
        Object.defineProperty(window, name, { get: () => { throw new DOMException("The operation is insecure.", "SecurityError"); } });
      }
    `);
    const id = await play();
    await page.locator("#launch-title").waitFor();
    await operator.finish(id);
  });

  it("shows what to do when the script of the page cannot be loaded", async () => {
    await page.route("**/assets/index-*.js", (route) => route.fulfill({ status: 404, body: "" }));
    await page.goto("/");
    await page.getByText("If nothing else appears here, reload the page.").waitFor();
    await page.unroute("**/assets/index-*.js");
    await page.reload();
    await page.getByLabel("E-mail").waitFor();
  });

  it("shows what to do when one page fails, and still shows the others", async () => {
    await page.route("**/assets/PlayPage-*.js", (route) => route.fulfill({ status: 404, body: "" }));
    const id = await play();
    const failure = page.getByRole("heading", { name: "This page could not be shown" });
    await failure.waitFor();
    await page.getByRole("link", { name: "Joypod, all games" }).click();
    await page.getByRole("heading", { name: "Games" }).waitFor();
    await page.goBack();
    await failure.waitFor();
    await page.unroute("**/assets/PlayPage-*.js");
    await page.getByRole("button", { name: "Reload" }).click();
    await page.locator("#launch-title").waitFor();
    await operator.finish(id);
  });
});
