import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import type { Browser } from "playwright-core";
import type { StreamTicketResponse } from "#contracts/http/gameSessions.ts";
import type { StreamInput } from "#contracts/stream.ts";
import { ordinaryWindow } from "./browser.ts";
import { pageScript } from "./pageScripts.ts";
import { PlayPage } from "./playPage.ts";

/**
 * A WHEP player that is somebody else's, the npm package whip-whep, in a browser that has no cookie of the
 * service.
 */
export class WhepPlayer extends PlayPage {
  /** Opens it on a page of the service's origin, whose own scripts do not run. */
  static async open(browser: Browser, baseUrl: string): Promise<WhepPlayer> {
    const context = await browser.newContext({ baseURL: baseUrl, viewport: ordinaryWindow });
    const page = await context.newPage();
    await page.route("**/whep-player", (route) =>
      route.fulfill({ contentType: "text/html", body: "<!doctype html><title>WHEP player</title>" }),
    );
    await page.goto("/whep-player");
    await page.evaluate(await clientText());
    await page.evaluate(await pageScript("probe", "whepPlayer"));
    return new WhepPlayer(page);
  }

  /** Connects by the ticket alone; resolves with the first frame. */
  async view({ url, ticket }: Pick<StreamTicketResponse, "url" | "ticket">): Promise<void> {
    await this.page.evaluate(`whepPlayer.view(${JSON.stringify(url)}, ${JSON.stringify(ticket)})`);
  }

  override async press(code: string): Promise<void> {
    for (const d of [1, 0] as const) await this.#send({ t: "key", c: code, d });
  }

  /** Hangs up. */
  async hangUp(): Promise<void> {
    await this.page.evaluate("whepPlayer.stop()");
  }

  async close(): Promise<void> {
    await this.page.context().close();
  }

  async #send(message: StreamInput): Promise<void> {
    await this.page.evaluate(`whepPlayer.send(${JSON.stringify(message)})`);
  }
}

/** The client as it was published, a module, as a script that leaves its class to the page. */
async function clientText(): Promise<string> {
  const text = await readFile(createRequire(import.meta.url).resolve("whip-whep/whep.js"), "utf8");
  return `(() => {\n${text.replace("export class WHEPClient", "globalThis.WHEPClient = class WHEPClient")}\n})()`;
}
