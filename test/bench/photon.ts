import type { Page } from "playwright-core";
import layout from "../../games/testcard/layout.json" with { type: "json" };
import { pageScript } from "../support/browser/pageScripts.ts";

/**
 * Returns the input-to-photon latency of each trial in milliseconds: from a key event on the play page to the
 * callback of the first decoded frame in which the test card shows it. The page must be playing the test
 * card.
 */
export async function measureStreamPhoton(page: Page, trials: number): Promise<number[]> {
  await page.evaluate(await pageScript("probe", "photonProbe"));
  return page.evaluate<number[]>(`joypodPhoton.stream(${JSON.stringify(layout.keyBlock)}, ${trials})`);
}

/**
 * Returns the same between two connections of one page: a canvas of the test card's size at 60 frames/s,
 * changed by a message on the data channel. This is the browser's share of the latency. Nothing else should
 * run at the same time.
 */
export async function measureLoopbackPhoton(page: Page, trials: number): Promise<number[]> {
  await page.evaluate(await pageScript("probe", "photonProbe"));
  return page.evaluate<number[]>(`joypodPhoton.loopback(${JSON.stringify(layout.keyBlock)}, ${trials})`);
}

/**
 * Returns the milliseconds from creating the connections to the first decoded frame, between two connections
 * of one page.
 */
export async function measureLoopbackFirstFrame(page: Page, trials: number): Promise<number[]> {
  await page.evaluate(await pageScript("probe", "photonProbe"));
  const results: number[] = [];
  for (let trial = 0; trial < trials; trial += 1)
    results.push(await page.evaluate<number>("joypodPhoton.loopbackFirstFrame()"));
  return results;
}
