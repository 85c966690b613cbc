import { expect } from "chai";
import fc from "fast-check";
import { RestoreOrder } from "#contracts/spool.ts";
import { parseOrder } from "#packer/spool/restoreOrder.ts";

const good = { version: 1, uid: "u", save: { sha256: "a".repeat(64), bytes: 1 } };
const odd = fc.constantFrom<unknown>(
  undefined,
  null,
  0,
  1,
  2,
  -1,
  1.5,
  2 ** 60,
  "",
  "u",
  "x".repeat(64),
  "x".repeat(65),
  "a".repeat(64),
  "A".repeat(64),
  [],
  {},
  good.save,
);

describe("parseOrder", () => {
  it("returns a valid order, and undefined for other texts", () => {
    expect(parseOrder(JSON.stringify(good))).to.deep.equal(good);
    expect(parseOrder(JSON.stringify({ version: 1, uid: "u" }))).to.deep.equal({ version: 1, uid: "u" });
    for (const text of ["", "{", "null", "[]", "7"]) expect(parseOrder(text), text).to.equal(undefined);
  });

  it("accepts an order with a changed field exactly when the schema does", () => {
    fc.assert(
      fc.property(fc.constantFrom("version", "uid", "save", "more"), odd, (key, value) =>
        agrees({ ...good, [key]: value }),
      ),
    );
    fc.assert(
      fc.property(fc.constantFrom("sha256", "bytes", "more"), odd, (key, value) =>
        agrees({ ...good, save: { ...good.save, [key]: value } }),
      ),
    );
  });

  function agrees(value: unknown): void {
    const text = JSON.stringify(value);
    const parsed = RestoreOrder.safeParse(JSON.parse(text));
    expect(parseOrder(text), text).to.deep.equal(parsed.data);
  }
});
