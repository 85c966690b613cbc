import type { Browser, BrowserContext } from "playwright-core";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { launchBrowser, ordinaryWindow, startTrace } from "#test/support/browser/browser.ts";
import { pageScript } from "#test/support/browser/pageScripts.ts";
import { repositoryRoot } from "#test/support/processes/programs.ts";
import { GamePage } from "./gamePage.ts";
import { platform, type Player } from "./platform.ts";

const results = join(repositoryRoot, "test-results");

/** Players for the tests of a suite; what a test leaves running is ended after it. */
export function playersOfSuite(): Players {
  const players = new Players();
  afterEach(async function () {
    await players.close(this.currentTest);
  });
  after(async () => {
    await players.quit();
  });
  return players;
}

/** The signed-in players of one test, each with a browser profile of their own. */
export class Players {
  readonly #contexts: BrowserContext[] = [];
  /** What ends the traces of those that have one. */
  readonly #endTrace = new WeakMap<BrowserContext, (file?: string) => Promise<void>>();
  #browser: Browser | undefined;

  /**
   * A new player, signed in and looking at the catalogue. What is measured is not traced: that costs the page
   * more than most of what it does.
   */
  async signIn({ isTraced = true } = {}): Promise<{ game: GamePage; player: Player; userId: string }> {
    const installed = await platform();
    const player = await installed.createPlayer();
    this.#browser ??= await launchBrowser();
    const context = await this.#browser.newContext({ viewport: ordinaryWindow });
    this.#contexts.push(context);
    if (isTraced) this.#endTrace.set(context, await startTrace(context));
    await context.addInitScript(await pageScript("probe"));
    const page = await context.newPage();
    page.setDefaultTimeout(30_000);
    const game = new GamePage(page);
    await game.signIn(installed.baseUrl, player);
    const { user } = await page.evaluate(
      async () => (await fetch("/api/auth/session")).json() as Promise<{ user: { id: string } }>,
    );
    return { game, player, userId: user.id };
  }

  /**
   * Ends the test's sessions and closes its pages; after a failure keeps traces, screenshots and what an
   * admin would look at.
   */
  async close(test: Mocha.Test | undefined): Promise<void> {
    const isFailed = test?.state !== "passed";
    const name = (test?.fullTitle() ?? "hook").replaceAll(/\W+/g, "-");
    if (isFailed) await keepEvidence(name, this.#contexts);
    for (const context of this.#contexts.splice(0)) {
      await stopSessions(context).catch(() => undefined);
      await this.#endTrace.get(context)?.(isFailed ? join(results, `${name}.zip`) : undefined);
      await context.close();
    }
  }

  /** Ends everything without keeping evidence, for those that are no tests. */
  async discard(): Promise<void> {
    for (const context of this.#contexts.splice(0)) await stopSessions(context).catch(() => undefined);
    await this.quit();
  }

  async quit(): Promise<void> {
    await this.#browser?.close();
  }
}

/** So that one test's sessions do not take the next one's slots. */
async function stopSessions(context: BrowserContext): Promise<void> {
  const { baseUrl } = await platform();
  const response = await context.request.get(`${baseUrl}/api/game/sessions`);
  const { sessions } = (await response.json()) as { sessions: { sessionId: string }[] };
  for (const { sessionId } of sessions) {
    await context.request.post(`${baseUrl}/api/game/stop`, { data: { sessionId }, timeout: 60_000 });
  }
}

async function keepEvidence(name: string, contexts: BrowserContext[]): Promise<void> {
  await mkdir(results, { recursive: true });
  const pages = contexts.flatMap((context) => context.pages());
  await Promise.all(
    pages.map((page, index) =>
      page.screenshot({ path: join(results, `${name}-${index}.png`) }).catch(() => undefined),
    ),
  );
  const diagnosis = await (await platform()).diagnosis();
  await writeFile(join(results, `${name}.txt`), diagnosis);
  console.error(diagnosis);
}
