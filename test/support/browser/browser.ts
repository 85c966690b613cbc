import { existsSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { chromium, type Browser, type BrowserContext, type Page } from "playwright-core";

const resultsFolder = "test-results";
const chromiumPath = "/usr/bin/chromium";
const chromiumShellPath = "/usr/bin/chromium-headless-shell";
/** Nothing but the pages under test: no updates, no accounts, no first-run pages. */
const quietFlags = [
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
  "--no-first-run",
  "--disable-quic",
  "--disable-dev-shm-usage",
];

/** The size of a window in pixels, unless a test says otherwise. */
export const ordinaryWindow = { width: 1280, height: 720 } as const;

/**
 * What a failed test's trace has: the page at each step. A film of it would have each picture of a stream
 * encoded once more.
 */
const tracing = { screenshots: false, snapshots: true } as const;

/**
 * Traces cost pages much of their time, so `make test` makes them only where it runs again what has failed.
 */
const isTracing = process.env["JOYPOD_TRACES"] !== "no";

/** Begins the trace of a window; resolves with what ends it, and keeps it in a file where one is named. */
export async function startTrace(context: BrowserContext): Promise<(file?: string) => Promise<void>> {
  if (!isTracing) return () => Promise.resolve();
  await context.tracing.start(tracing);
  return (path) => context.tracing.stop(path === undefined ? {} : { path });
}

/** A browser window of its own: own cookies, own trace. */
export interface TestWindow {
  page: Page;
  context: BrowserContext;
  /** Messages of the console and of uncaught errors so far. */
  messages: readonly string[];
  /**
   * Closes the window; when the test failed, a screenshot, the trace and the messages of the page are kept
   * under test-results.
   */
  close: (result: { failed: boolean }) => Promise<void>;
}

/** Where a browser is, and what it takes names for. */
export interface BrowserPlace {
  /** A program that starts Chromium there, with all arguments that it gets. */
  executablePath?: string;
  flags?: readonly string[];
}

/** Starts the machine's own Chromium, without a display. Close it when done. */
export function launchBrowser({ executablePath, flags = [] }: BrowserPlace = {}): Promise<Browser> {
  return launch(process.env["CHROMIUM"] ?? chromiumPath, "chromium", { executablePath, flags });
}

/**
 * Starts the same engine without the windows and menus around it, for half the processor time, for pages:
 * what is played, and what has to do with windows, is tested in launchBrowser's. Close it when done.
 */
export function launchBrowserShell(): Promise<Browser> {
  return launch(process.env["CHROMIUM"] ?? chromiumShellPath, "chromium-headless-shell", { flags: [] });
}

async function launch(
  executablePath: string,
  debianPackage: string,
  { executablePath: starter, flags }: { executablePath?: string | undefined; flags: readonly string[] },
): Promise<Browser> {
  if (!existsSync(executablePath)) {
    throw new Error(
      `No browser at ${executablePath}: install the Debian package ${debianPackage}, or name another Chromium in CHROMIUM.`,
    );
  }
  // Chromium's own sandbox refuses to work for root.
  const sandbox = process.getuid?.() === 0 ? ["--no-sandbox"] : [];
  return chromium.launch({
    executablePath: starter ?? executablePath,
    headless: true,
    args: [...quietFlags, ...sandbox, ...flags],
  });
}

/** Opens a window at `baseUrl`; `name` is what its files are called when the test fails. */
export async function openWindow(
  browser: Browser,
  { baseUrl, name }: { baseUrl: string; name: string },
): Promise<TestWindow> {
  const context = await browser.newContext({
    baseURL: baseUrl,
    viewport: ordinaryWindow,
    ignoreHTTPSErrors: true,
  });
  const endTrace = await startTrace(context);
  const page = await context.newPage();
  const messages: string[] = [];
  page.on("console", (message) => messages.push(`${message.type()}: ${message.text()}`));
  page.on("pageerror", (error) => messages.push(`uncaught: ${error.message}`));
  return {
    page,
    context,
    messages,
    close: async ({ failed }) => {
      if (failed) await keepEvidence(page, endTrace, messages, name);
      else await endTrace();
      await context.close();
    },
  };
}

async function keepEvidence(
  page: Page,
  endTrace: (file: string) => Promise<void>,
  messages: readonly string[],
  name: string,
): Promise<void> {
  const base = join(resultsFolder, name.replaceAll(/[^A-Za-z0-9]+/g, "-"));
  await mkdir(resultsFolder, { recursive: true });
  // A page that crashed has no picture; the trace is worth keeping all the same.
  await page
    .screenshot({ path: `${base}.png` })
    .catch((error: unknown) => console.error("No screenshot could be taken.", error));
  await endTrace(`${base}.trace.zip`);
  console.error(
    `The page's screenshot and its trace, if there is one, are in ${base}.*; its last messages: ${messages.slice(-20).join("\n")}`,
  );
}
