import { expect } from "chai";
import { aGame, aUser } from "#test/factories/catalog.ts";
import { launchBrowserShell, openWindow } from "#test/support/browser/browser.ts";
import { openSignedIn } from "#test/support/browser/pages.ts";
import { buildWeb } from "#test/support/browser/web.ts";
import { TestApi } from "#test/support/http/api.ts";
import { TestResponder } from "#test/support/session/testResponder.ts";

/** A result stored in the browser. */
interface Stored {
  direct: { figures?: { roundTripMs: number; bandwidthKbps: number } };
}

// The limited path runs in this process: on a busy machine it loses so much that the test is interrupted.
describe("the connection test on a narrow path", function () {
  this.timeout(120_000);

  it("measures a low bandwidth and a long round trip", async () => {
    await using cleanup = new AsyncDisposableStack();
    const responder = await TestResponder.start({ env: { MAX_KBPS: "6000" } });
    cleanup.defer(() => responder.stop());
    const api = await TestApi.start({ env: { WEB_ROOT: await buildWeb(), ...responder.apiEnv } });
    cleanup.defer(() => api.stop());
    await aGame(api.deps, { slug: "alpha", title: "Alpha" });
    await using browser = await launchBrowserShell();
    const { page } = await openWindow(browser, { baseUrl: api.url, name: "narrow" });
    await openSignedIn(page, api, await aUser(api.deps), "/games/alpha");
    responder.way.limit(2_000, 40);
    const region = page.getByRole("region", { name: "Your connection" });
    await region.getByRole("button", { name: /^Test my connection/ }).click();
    await region.getByText("Tested just now").waitFor({ timeout: 25_000 });
    const { direct } = await page.evaluate<Stored>(
      "JSON.parse(localStorage.getItem('joypod.connectionTest'))",
    );
    expect(direct.figures?.bandwidthKbps).to.be.within(1_000, 2_200);
    expect(direct.figures?.roundTripMs).to.be.within(40, 120);
    await region.getByRole("status").getByText("less sharp picture").waitFor();
  });
});
