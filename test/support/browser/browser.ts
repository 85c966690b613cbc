import { existsSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { chromium, type Browser, type BrowserContext, type Page } from "playwright-core";

const resultsFolder = "test-results";
const chromiumPath = "/usr/bin/chromium";
const chromiumShellPath = "/usr/bin/chromium-headless-shell";
/** Disables updates, accounts and first-run pages. */
const quietFlags = [
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
  "--no-first-run",
  "--disable-quic",
  "--disable-dev-shm-usage",
];

/** Default window size in pixels. */
export const ordinaryWindow = { width: 1280, height: 720 } as const;

/**
 * Contents of a failed test's trace: a snapshot of the page at each step. Screenshots would encode every
 * frame of a stream again.
 */
const tracing = { screenshots: false, snapshots: true } as const;

/** Tracing slows pages down, so `make test` enables it only for retries. */
const isTracing = process.env["JOYPOD_TRACES"] !== "no";

/** Starts the trace of a window. Returns a function that ends it, and stores it if a file is given. */
export async function startTrace(context: BrowserContext): Promise<(file?: string) => Promise<void>> {
  if (!isTracing) return () => Promise.resolve();
  await context.tracing.start(tracing);
  return (path) => context.tracing.stop(path === undefined ? {} : { path });
}

/** A browser window with separate cookies and trace. */
export interface TestWindow {
  page: Page;
  context: BrowserContext;
  /** Console messages and uncaught errors so far. */
  messages: readonly string[];
  /**
   * Closes the window. If the test failed, stores a screenshot, the trace and the page's messages in
   * test-results.
   */
  close: (result: { failed: boolean }) => Promise<void>;
}

/** Location and flags of a browser. */
export interface BrowserPlace {
  /** A program that starts Chromium with all its arguments. */
  executablePath?: string;
  flags?: readonly string[];
}

/** Starts the installed Chromium without a display. Close it after use. */
export function launchBrowser({ executablePath, flags = [] }: BrowserPlace = {}): Promise<Browser> {
  return launch(process.env["CHROMIUM"] ?? chromiumPath, "chromium", { executablePath, flags });
}

/**
 * Starts the same engine without windows and menus, which needs half the processor time. For pages; streams
 * and window behaviour are tested with launchBrowser. Close it after use.
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
  // Chromium's sandbox does not work as root.
  const sandbox = process.getuid?.() === 0 ? ["--no-sandbox"] : [];
  return chromium.launch({
    executablePath: starter ?? executablePath,
    headless: true,
    args: [...quietFlags, ...sandbox, ...flags],
  });
}

/** Opens a window at `baseUrl`. `name` is the file name of its evidence if the test fails. */
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
  // A crashed page has no screenshot, but the trace is still useful.
  await page
    .screenshot({ path: `${base}.png` })
    .catch((error: unknown) => console.error("No screenshot could be taken.", error));
  await endTrace(`${base}.trace.zip`);
  console.error(
    `The page's screenshot and its trace, if there is one, are in ${base}.*; its last messages: ${messages.slice(-20).join("\n")}`,
  );
}
