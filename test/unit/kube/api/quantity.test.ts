import { expect } from "chai";
import { parseQuantity } from "#kube/api/quantity.ts";

describe("parseQuantity", () => {
  const cases: [string | undefined, number | undefined][] = [
    ["500m", 0.5],
    ["2", 2],
    ["0.1", 0.1],
    ["1e3", 1000],
    ["12E2", 1200],
    ["1E", 1e18],
    ["1k", 1000],
    ["1Ki", 1024],
    ["1.5Gi", 1.5 * 2 ** 30],
    ["16384Mi", 2 ** 34],
    ["100M", 1e8],
    ["+2.", 2],
    [".5", 0.5],
    ["", undefined],
    [undefined, undefined],
    ["1KB", undefined],
    ["many", undefined],
    ["1 Gi", undefined],
  ];
  for (const [text, number] of cases)
    it(`parses ${String(text)} as ${String(number)}`, () => expect(parseQuantity(text)).to.equal(number));
});
