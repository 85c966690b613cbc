import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import type { Browser } from "playwright-core";
import type { StreamTicketResponse } from "#contracts/http/gameSessions.ts";
import type { StreamInput } from "#contracts/stream.ts";
import { ordinaryWindow } from "./browser.ts";
import { pageScript } from "./pageScripts.ts";
import { PlayPage } from "./playPage.ts";

/** A third-party WHEP player, the npm package whip-whep, in a browser without a cookie of the service. */
export class WhepPlayer extends PlayPage {
  /** Opens it on a page of the service's origin, with the page's own scripts disabled. */
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

  /** Connects with only the ticket. Resolves with the first frame. */
  async view({ url, ticket }: Pick<StreamTicketResponse, "url" | "ticket">): Promise<void> {
    await this.page.evaluate(`whepPlayer.view(${JSON.stringify(url)}, ${JSON.stringify(ticket)})`);
  }

  override async press(code: string): Promise<void> {
    for (const d of [1, 0] as const) await this.#send({ t: "key", c: code, d });
  }

  /** Closes the connection. */
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

/** Returns the published client, a module, as a script that assigns its class to the page. */
async function clientText(): Promise<string> {
  const text = await readFile(createRequire(import.meta.url).resolve("whip-whep/whep.js"), "utf8");
  return `(() => {\n${text.replace("export class WHEPClient", "globalThis.WHEPClient = class WHEPClient")}\n})()`;
}
