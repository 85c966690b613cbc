import axe, { type AxeResults } from "axe-core";
import { expect } from "chai";
import type { Page } from "playwright-core";

/** Endless animations, such as spinners, are not waited for. */
const settled =
  "Promise.allSettled(document.getAnimations().filter(({ effect }) => effect.getComputedTiming().endTime !== Infinity).map(({ finished }) => finished))";

/**
 * Fields whose border has too little contrast (WCAG 1.4.11), which axe-core does not check. In front of a
 * gradient, the page's background colour is used.
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

/** Expects that axe-core finds no accessibility problem on the page as currently shown. */
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
