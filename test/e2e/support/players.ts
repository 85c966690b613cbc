import type { Browser, BrowserContext } from "playwright-core";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { launchBrowser, ordinaryWindow, startTrace } from "#test/support/browser/browser.ts";
import { pageScript } from "#test/support/browser/pageScripts.ts";
import { repositoryRoot } from "#test/support/processes/programs.ts";
import { GamePage } from "./gamePage.ts";
import { platform, type Player } from "./platform.ts";

const results = join(repositoryRoot, "test-results");

/** Returns the players of a suite. After each test, ends the sessions that are active. */
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

/** Touches the page repeatedly: sessions that nobody plays end, and many tests only look at the picture. */
const stayPresent = "setInterval(() => dispatchEvent(new Event('touchstart')), 10_000)";

/** The signed-in players of a test, each with a separate browser profile. */
export class Players {
  readonly #contexts: BrowserContext[] = [];
  /** Functions that end the traces of contexts that have one. */
  readonly #endTrace = new WeakMap<BrowserContext, (file?: string) => Promise<void>>();
  #browser: Browser | undefined;

  /**
   * Returns a new player who is signed in and on the catalogue page. Disable tracing for measurements,
   * because it costs more than most of the page's work.
   */
  async signIn({ isTraced = true } = {}): Promise<{ game: GamePage; player: Player; userId: string }> {
    const installed = await platform();
    const player = await installed.createPlayer();
    this.#browser ??= await launchBrowser();
    const context = await this.#browser.newContext({ viewport: ordinaryWindow });
    this.#contexts.push(context);
    if (isTraced) this.#endTrace.set(context, await startTrace(context));
    await context.addInitScript(await pageScript("probe"));
    await context.addInitScript(stayPresent);
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
   * Ends the test's sessions and closes its pages. After a failure, keeps traces, screenshots and the
   * platform's state.
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

  /** Ends everything without keeping evidence, for uses outside tests. */
  async discard(): Promise<void> {
    for (const context of this.#contexts.splice(0)) await stopSessions(context).catch(() => undefined);
    await this.quit();
  }

  async quit(): Promise<void> {
    await this.#browser?.close();
  }
}

/** Ends sessions so that they do not block the slots of the next test. */
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
