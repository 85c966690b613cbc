import { expect } from "chai";
import { matchesLabels, parseLabelSelector } from "#kube/api/labelSelector.ts";

describe("matchesLabels", () => {
  /** A selector, labels, and whether an object with them is selected. */
  const cases: [string, Record<string, string> | undefined, boolean][] = [
    ["", undefined, true],
    ["gpu", { gpu: "" }, true],
    ["gpu", undefined, false],
    ["!gpu", undefined, true],
    ["!gpu", { gpu: "no" }, false],
    ["gpu=yes", { gpu: "yes" }, true],
    ["gpu=yes", { gpu: "no" }, false],
    ["gpu!=yes", { gpu: "yes" }, false],
    ["gpu!=yes", {}, true],
    ["zone in (a, b)", { zone: "b" }, true],
    ["zone in (a, b)", {}, false],
    ["zone notin (a,b)", { zone: "c" }, true],
    ["zone notin (a,b)", {}, true],
    ["gpu,zone in (a,b),!spare", { gpu: "1", zone: "a" }, true],
    ["gpu,zone in (a,b),!spare", { gpu: "1", zone: "a", spare: "" }, false],
  ];
  for (const [selector, labels, isSelected] of cases) {
    it(`${isSelected ? "matches" : "does not match"} ${JSON.stringify(labels)} with "${selector}"`, () => {
      expect(matchesLabels(labels, parseLabelSelector(selector))).to.equal(isSelected);
    });
  }
});
