import axe, { type AxeResults } from "axe-core";
import { expect } from "chai";
import type { Page } from "playwright-core";

/** What begins and never ends, like a spinner, is not waited for. */
const settled =
  "Promise.allSettled(document.getAnimations().filter(({ effect }) => effect.getComputedTiming().endTime !== Infinity).map(({ finished }) => finished))";

/**
 * The fields whose border can hardly be seen (WCAG 1.4.11), which axe-core leaves to people. Where a gradient
 * is behind one, the page's own color counts.
 */
const faintFields = `(() => {
  axe.setup(document);
  const { Color, getBackgroundColor, getContrast } = axe.commons.color;
  const colorOf = (text) => {
    const color = new Color();
    color.parseString(text);
    return color;
  };
  const fields = document.querySelectorAll("input:not([type=hidden], [type=radio], [type=checkbox], [type=file]), select, textarea");
  const faint = [...fields].filter((field) => field.checkVisibility()).filter((field) => {
    const around = getBackgroundColor(field.parentElement) ?? colorOf(getComputedStyle(document.body).backgroundColor);
    return getContrast(around, colorOf(getComputedStyle(field).borderTopColor)) < 3;
  });
  axe.teardown();
  return faint.map(({ outerHTML }) => outerHTML);
})()`;

/**
 * Fails when axe-core finds something on the page, as it is shown now, that keeps somebody from using it:
 * without sight, without a mouse, or with weak eyes.
 */
export async function expectAccessible(page: Page): Promise<void> {
  await page.evaluate(settled);
  await page.evaluate(`${axe.source}; undefined`);
  const { violations, passes } = await page.evaluate<AxeResults>("axe.run(document)");
  const found = violations.flatMap(({ id, help, nodes }) =>
    nodes.map(
      ({ target, failureSummary }) => `${id} (${help}) at ${target.join(" ")}: ${failureSummary ?? ""}`,
    ),
  );
  expect(found, page.url()).to.deep.equal([]);
  expect(await page.evaluate(faintFields), `${page.url()}: fields that can hardly be seen`).to.deep.equal([]);
  expect(passes, "what axe-core looked at").to.not.be.empty;
}
