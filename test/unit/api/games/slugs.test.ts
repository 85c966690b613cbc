import { expect } from "chai";
import fc from "fast-check";
import { slug } from "#contracts/http/text.ts";
import { deriveSlug } from "#api/games/registerGame.ts";

describe("deriveSlug", () => {
  it("keeps letters and digits and joins them with dashes", () => {
    expect(deriveSlug("The Question!")).to.equal("the-question");
    expect(deriveSlug("  Émile's  Ünïcode — 2  ")).to.equal("emiles-unicode-2");
  });

  it("returns undefined when too little is left", () => {
    for (const title of ["", "!", "日本語", "x"]) expect(deriveSlug(title), title).to.be.undefined;
  });

  it("returns a valid slug or undefined, whatever the title", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme", maxLength: 200 }), (title) => {
        const made = deriveSlug(title);
        return made === undefined || slug.safeParse(made).success;
      }),
    );
  });
});
