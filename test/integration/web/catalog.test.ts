import { expect } from "chai";
import type { Browser, Locator, Page } from "playwright-core";
import {
  aGame,
  aGameSessionRow,
  aPartner,
  aSaveSlot,
  aUser,
  type TestPartner,
} from "#test/factories/catalog.ts";
import { aPng } from "#test/factories/pictures.ts";
import { TestApi } from "#test/support/http/api.ts";
import { launchBrowserShell, openWindow, type TestWindow } from "#test/support/browser/browser.ts";
import { eventually } from "#test/support/clocks/eventually.ts";
import { olderBrowser } from "#test/support/browser/otherBrowsers.ts";
import { openSignedIn, signInAs } from "#test/support/browser/pages.ts";
import { buildWeb } from "#test/support/browser/web.ts";

describe("the catalogue's pages", () => {
  let api: TestApi;
  let browser: Browser;
  let tab: TestWindow;
  let page: Page;
  let partner: TestPartner;

  before(async function () {
    this.timeout(120_000);
    // Without a queue, a launch fails at once when no server is available.
    api = await TestApi.start({ minio: true, env: { WEB_ROOT: await buildWeb(), QUEUE_LENGTH: "0" } });
    partner = await aPartner(api.deps);
    const partnerId = partner.id;
    await aGame(api.deps, {
      slug: "alpha-quest",
      title: "Alpha Quest",
      developer: "North",
      tags: ["RPG"],
      partnerId,
    });
    await aGame(api.deps, {
      slug: "beta-run",
      title: "Beta Run",
      developer: "South",
      tags: ["racing"],
      popularity: 7,
      partnerId,
    });
    const numbers = Array.from({ length: 28 }, (_game, place) => String(place + 10));
    for (const number of numbers)
      await aGame(api.deps, {
        slug: `filler-${number}`,
        title: `Filler ${number}`,
        tags: ["filler"],
        partnerId,
      });
    browser = await launchBrowserShell();
  });
  after(async () => {
    await browser.close();
    await api.stop();
  });

  beforeEach(async function () {
    tab = await openWindow(browser, { baseUrl: api.url, name: this.currentTest?.fullTitle() ?? "catalogue" });
    ({ page } = tab);
    await openSignedIn(page, api, await aUser(api.deps), "/");
    await page.getByRole("link", { name: "Alpha Quest" }).waitFor();
  });
  afterEach(async function () {
    await tab.close({ failed: this.currentTest?.state === "failed" });
  });

  const grid = () => page.getByRole("list", { name: "Games", exact: true });
  const titles = () => grid().getByRole("heading").allTextContents();

  it("load more games while scrolling", async () => {
    await page.getByText("30 games").waitFor();
    await page.mouse.wheel(0, 20_000);
    await eventually(async () => (await titles()).length === 30);
  });

  it("restore the scroll position on return; another page starts at its top with the focus", async () => {
    const scrolled = (): Promise<number> => page.evaluate<number>("scrollY");
    await page.getByText("30 games").waitFor();
    await page.mouse.wheel(0, 20_000);
    await eventually(async () => (await titles()).length === 30);
    const last = page.getByRole("link", { name: "Filler 37" });
    await last.scrollIntoViewIfNeeded();
    const left = await scrolled();
    expect(left).to.be.above(300);
    await last.click();
    await page.getByRole("heading", { name: "Filler 37", level: 1 }).waitFor();
    expect(await scrolled()).to.equal(0);
    expect(await page.evaluate<string>("document.activeElement.id")).to.equal("main");
    await page.goBack();
    await last.waitFor();
    await eventually(async () => Math.abs((await scrolled()) - left) < 50, { what: "the same place" });
    expect(await titles()).to.have.length(30);
  });

  it("do not reload several pages of games on return", async () => {
    await page.getByText("30 games").waitFor();
    await page.mouse.wheel(0, 20_000);
    await eventually(async () => (await titles()).length === 30);
    const reads = new Array<string>();
    page.on("request", (request) => {
      if (request.url().includes("/api/games?")) reads.push(request.url());
    });
    for (const title of ["Filler 37", "Filler 36"]) {
      await page.getByRole("link", { name: title }).click();
      await page.getByRole("heading", { name: title, level: 1 }).waitFor();
      await page.goBack();
      await page.getByRole("link", { name: title }).waitFor();
      expect(await titles()).to.have.length(30);
    }
    await page.getByRole("link", { name: "Your account" }).click();
    await page.getByRole("heading", { name: "Where you are signed in" }).waitFor(); // What the list asked for was asked for before this.
    expect(reads).to.deep.equal([]);
  });

  it("reload a single page of games on return", async () => {
    await page.goto("/?q=south");
    await page.getByRole("link", { name: "Beta Run" }).click();
    await page.getByRole("heading", { name: "Beta Run", level: 1 }).waitFor();
    const read = page.waitForRequest("**/api/games?**");
    await page.goBack();
    await read;
    await eventually(async () => (await titles()).join() === "Beta Run");
  });

  it("search the catalogue, and report when nothing is found", async () => {
    await page.getByLabel("Search games").fill("south");
    await eventually(async () => (await titles()).join() === "Beta Run");
    await page.reload();
    await eventually(async () => (await titles()).join() === "Beta Run", { what: "the same after a reload" });
    await page.getByLabel("Search games").fill("alpha\tquest");
    await eventually(async () => (await titles()).join() === "Alpha Quest", {
      what: "the game of a title that was pasted with a tab",
    });
    await page.goto("/?q=beta%0Arun");
    await eventually(async () => (await titles()).join() === "Beta Run", {
      what: "the game of a title with a line feed in the address",
    });
    await page.getByLabel("Search games").fill("nothing like this");
    await page.getByText("Nothing found").waitFor();
    await page.getByLabel("Search games").fill("W".repeat(100));
    await page.getByText("W".repeat(100)).waitFor();
    expect(
      await page.evaluate(
        "(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth)(document.querySelector('.notice'))",
      ),
      "what stands beyond the notice's edge",
    ).to.equal(0);
    await page.getByRole("button", { name: "Show all games" }).click();
    await page.getByText("30 games").waitFor();
  });

  it("filter by tag and sort by popularity", async () => {
    await page.getByLabel("Sort by").selectOption("Most played");
    await eventually(async () => (await titles())[0] === "Beta Run");
    await page.getByRole("button", { name: "RPG" }).click();
    await eventually(async () => (await titles()).join() === "Alpha Quest");
  });

  it("show the tag in the address once and pressed, ignoring case", async () => {
    await page.goto("/?tag=rpg");
    await eventually(async () => (await titles()).join() === "Alpha Quest");
    const tags = page.getByRole("group", { name: "Tags" }).getByRole("button");
    expect(await tags.allTextContents()).to.deep.equal(["All", "RPG"]);
    expect(await tags.nth(1).getAttribute("aria-pressed")).to.equal("true");
  });

  it("replace the placeholder of a game with its uploaded picture without a layout shift", async () => {
    const card = page.getByRole("article").filter({ hasText: "Beta Run" });
    const drawn = await card.boundingBox();
    const type = { "content-type": "image/png" };
    const response = await api
      .asPartner(partner)
      .put("/api/partners/games/beta-run/picture", aPng({ width: 640, height: 640 }), type);
    const { picture } = response.json<{ picture: string }>();
    const loaded = page.waitForResponse(picture);
    await page.reload();
    expect((await loaded).headers()["content-type"]).to.equal("image/png");
    const image = card.locator("img");
    await eventually(async () => (await image.evaluate(widthOf)) === 640, {
      what: "the picture to be drawn",
    });
    expect(await image.getAttribute("loading")).to.equal("lazy");
    expect(await card.boundingBox()).to.deep.equal(drawn);
    await page.goto("/games/beta-run");
    await eventually(async () => (await page.locator(".game-art img").evaluate(widthOf)) === 640, {
      what: "the picture on the game's page",
    });
  });

  it("remember favourites", async () => {
    const heart = page.getByRole("button", { name: "Favourite: Alpha Quest" });
    await Promise.all([page.waitForResponse("**/api/favorites"), heart.click()]);
    await page.getByRole("list", { name: "Favourites" }).getByRole("link", { name: "Alpha Quest" }).waitFor();
    await page.goto("/games/alpha-quest");
    await eventually(async () => (await heart.getAttribute("aria-pressed")) === "true", {
      what: "the favourite on the game's page",
    });
  });

  it("report a failed favourite, and restore its mark", async () => {
    const heart = grid().getByRole("button", { name: "Favourite: Alpha Quest" });
    const problem = page.getByRole("alert").getByText("Joypod did not answer.");
    await tab.context.setOffline(true);
    await heart.click();
    await problem.waitFor();
    expect(await heart.getAttribute("aria-pressed")).to.equal("false");
    await tab.context.setOffline(false);
    await heart.click();
    await eventually(async () => (await heart.getAttribute("aria-pressed")) === "true");
    expect(await problem.count()).to.equal(0);
  });

  it("keep a favourite after Back, before anything is reloaded", async () => {
    await page.getByRole("link", { name: "Beta Run" }).click();
    const shown = page.getByRole("button", { name: "Favourite: Beta Run" });
    await shown.click();
    await eventually(async () => (await shown.getAttribute("aria-pressed")) === "true");
    await page.route("**/api/games?**", () => undefined); // There is no response.
    await page.goBack();
    const heart = grid().getByRole("button", { name: "Favourite: Beta Run" });
    await page.getByRole("link", { name: "Alpha Quest" }).waitFor();
    // The page may be left before the mark has reached the server; its response marks the game here.
    await eventually(async () => (await heart.getAttribute("aria-pressed")) === "true", {
      what: "the favourite to be marked",
    });
  });

  it("show games in older browsers without AbortSignal.any", async () => {
    await page.addInitScript(olderBrowser);
    await page.reload();
    await page.getByRole("link", { name: "Alpha Quest" }).waitFor();
    expect(await page.evaluate("'any' in AbortSignal")).to.equal(false);
  });

  it("remove the tab's id from its storage, which a duplicated tab would copy", async () => {
    await page.evaluate('sessionStorage.setItem("joypod.streamClient", "a tab")');
    await page.reload();
    await page.getByRole("link", { name: "Alpha Quest" }).waitFor();
    expect(await page.evaluate('sessionStorage.getItem("joypod.streamClient")')).to.equal(null);
  });

  it("offer to continue a save and to start a new game in the first empty slot", async () => {
    const user = await aUser(api.deps);
    const game = await aGame(api.deps, {
      slug: "played",
      title: "Played",
      description: "First line.\nSecond line.",
    });
    await aSaveSlot(api.deps, { user, game, number: 2 });
    await page.getByRole("button", { name: "Sign out" }).click();
    await signInAs(page, user);
    await page.goto("/games/played");
    const slots = page.getByRole("list", { name: "Save slots" });
    const play = slots.getByRole("button", { name: /^(Continue|New game)/ });
    await play.first().waitFor();
    const names = await play.evaluateAll((buttons: { ariaLabel: string | null }[]) =>
      buttons.map(({ ariaLabel }) => ariaLabel),
    );
    expect(names).to.deep.equal(["New game in slot 1", "Continue slot 2"]);
    await page.getByRole("button", { name: "Continue playing" }).waitFor();
    await page.getByText("Second line.").waitFor();
  });

  it("continue the last game with one click, and list favourites", async () => {
    const user = await aUser(api.deps);
    const game = await aGame(api.deps, { slug: "omega", title: "Omega Drive", partnerId: partner.id });
    const slot = await aSaveSlot(api.deps, { user, game, number: 3 });
    await aGameSessionRow(
      api.deps,
      { user, game },
      { slotId: slot.id, status: "stopped", durationSeconds: 5_400 },
    );
    await page.getByText("Games that you have played appear here.").waitFor();
    await page.getByRole("button", { name: "Sign out" }).click();
    await signInAs(page, user);
    const played = page.getByRole("list", { name: "Continue playing" }).getByRole("listitem");
    await played.getByText("1 h 30 min played").waitFor();
    expect(await played.count()).to.equal(1);
    const [launch] = await Promise.all([
      page.waitForRequest("**/api/game/launch"),
      played.getByRole("button", { name: "Continue Omega Drive" }).click(),
    ]);
    expect(launch.postDataJSON()).to.deep.include({ gameSlug: "omega", saveSlotId: slot.id });
    await page.goto("/");
    await grid().getByRole("button", { name: "Favourite: Beta Run" }).click();
    await page.getByRole("list", { name: "Favourites" }).getByRole("link", { name: "Beta Run" }).waitFor();
    await page.getByRole("button", { name: "Favourites", exact: true }).click();
    await page.getByText("1 game", { exact: true }).waitFor();
    expect(await titles()).to.deep.equal(["Beta Run"]);
    expect(new URL(page.url()).search).to.equal("?favorites=true");
  });

  it("can be used with the keyboard only", async () => {
    await page.reload();
    await page.getByRole("link", { name: "Alpha Quest" }).waitFor();
    await page.keyboard.press("Tab");
    await page.keyboard.press("Enter"); // The skip link.
    const focused = page.getByRole("link", { name: "Alpha Quest" }).and(page.locator(":focus"));
    for (let tabs = 0; tabs < 20 && !(await focused.isVisible()); tabs += 1) await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
    await page.waitForURL("**/games/alpha-quest");
  });

  it("keep focused elements below the header, such as the content after the skip link", async () => {
    const header = page.locator("header.header");
    await page.reload();
    await page.getByRole("link", { name: "Filler 20" }).waitFor();
    await page.keyboard.press("Tab");
    await page.keyboard.press("Enter"); // The skip link.
    await eventually(() => page.evaluate<boolean>("document.activeElement.id === 'main'"), {
      what: "the focus on the content",
    });
    await page.evaluate("new Promise(requestAnimationFrame)");
    expect((await edgesOf(page.getByRole("heading", { level: 1 }))).top).to.be.at.least(
      (await edgesOf(header)).bottom,
    );
    const control = page.getByRole("button", { name: "Favourite: Filler 19" });
    await page.getByRole("link", { name: "Filler 20" }).focus();
    await page.evaluate(`scrollBy(0, ${(await edgesOf(control)).top - 10})`);
    expect((await edgesOf(control)).bottom, "a control under the header").to.be.below(
      (await edgesOf(header)).bottom,
    );
    await page.keyboard.press("Shift+Tab");
    await control.and(page.locator(":focus")).waitFor();
    await page.evaluate("new Promise(requestAnimationFrame)");
    expect((await edgesOf(control)).top).to.be.at.least((await edgesOf(header)).bottom);
  });

  it("show a message for a game or page that does not exist", async () => {
    await page.goto("/games/no-such-game");
    await page.getByText("This game is not available").waitFor();
    await page.goto("/no/such/page");
    await page.getByText("Page not found").waitFor();
  });

  it("offer a new game after a launch failed because its slot was deleted elsewhere", async () => {
    const user = await aUser(api.deps);
    const game = await aGame(api.deps, { slug: "played-elsewhere", title: "Played elsewhere" });
    const { id } = await aSaveSlot(api.deps, { user, game });
    await page.getByRole("button", { name: "Sign out" }).click();
    await signInAs(page, user);
    await page.goto("/games/played-elsewhere");
    await page.getByRole("button", { name: "Continue slot 1" }).waitFor();
    await api.deps.postgres.prisma.saveSlot.delete({ where: { id } });
    await page.getByRole("button", { name: "Continue playing" }).click();
    await page.getByRole("alert").getByText("All game servers are busy").waitFor();
    await page.getByRole("button", { name: "Play", exact: true }).waitFor();
    await page.getByRole("button", { name: "New game in slot 1" }).waitFor();
  });

  it("explain when no server is available", async () => {
    await page.goto("/games/alpha-quest");
    await page.getByRole("button", { name: "Play", exact: true }).click();
    await page.getByRole("alert").getByText("All game servers are busy").waitFor();
  });

  it("show a launch on the button that started it, and its failure inside the window", async () => {
    const viewport = { width: 390, height: 664 };
    await page.setViewportSize(viewport);
    await page.goto("/games/alpha-quest");
    const fresh = page.getByRole("button", { name: "New game in slot 1" });
    await fresh.evaluate(toTopOfWindow);
    const response = Promise.withResolvers<undefined>();
    await page.route("**/api/game/launch", async (route) => {
      await response.promise;
      await route.continue();
    });
    await fresh.click();
    await page
      .getByRole("button", { name: "Launching…" })
      .and(page.getByRole("button", { name: "slot 1" }))
      .waitFor();
    await page.getByRole("button", { name: "Play", exact: true }).waitFor();
    response.resolve(undefined);
    const alert = page.getByRole("alert");
    await alert.getByText("All game servers are busy").waitFor();
    await fresh.waitFor();
    await eventually(
      async () => {
        const [{ top, bottom }, header] = await Promise.all([
          edgesOf(alert),
          edgesOf(page.locator("header.header")),
        ]);
        return top >= header.bottom && bottom <= viewport.height;
      },
      { what: "the reason between the header and the window's lower edge" },
    );
    await page.getByRole("button", { name: "Play", exact: true }).click();
    await eventually(async () => (await page.locator(".game-head").getByRole("alert").count()) === 1, {
      what: "the reason beside Play",
    });
    expect(await alert.count()).to.equal(1);
  });
});

/** Returns where an element begins and ends, in pixels from the window's top. */
async function edgesOf(locator: Locator): Promise<{ top: number; bottom: number }> {
  const box = await locator.boundingBox();
  if (box === null) throw new Error("The page does not show the element.");
  return { top: box.y, bottom: box.y + box.height };
}

/** Scrolls until the element stands at the window's top, below the header. */
function toTopOfWindow(element: { scrollIntoView: () => void }): void {
  element.scrollIntoView();
}

/** Pixels of a picture that was loaded; 0 before. */
function widthOf({ naturalWidth }: { naturalWidth: number }): number {
  return naturalWidth;
}
