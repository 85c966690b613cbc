import { expect } from "chai";
import { artPattern } from "../../../../web/src/catalog/artPattern.ts";

describe("artPattern", () => {
  it("is the same on every visit and differs between games", () => {
    expect(artPattern("the-question", "The Question")).to.deep.equal(artPattern("the-question", "The Question"));
    expect(artPattern("the-question", "The Question").shapes).to.not.deep.equal(artPattern("supertux", "SuperTux").shapes);
  });

  it("takes initials from the words that say something", () => {
    const initials = (title: string): string => artPattern("x", title).initials;
    expect(initials("The Question")).to.equal("Q");
    expect(initials("lord of the blocks")).to.equal("LB");
    expect(initials("Ökolopoly – das Spiel")).to.equal("ÖD");
    expect(initials("The")).to.equal("T");
    expect(initials("!!!")).to.equal("");
  });
});
