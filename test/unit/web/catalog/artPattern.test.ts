import { expect } from "chai";
import { artPattern } from "#web/catalog/artPattern.ts";

describe("artPattern", () => {
  it("returns the same pattern for the same game and another for another game", () => {
    expect(artPattern("the-question", "The Question")).to.deep.equal(
      artPattern("the-question", "The Question"),
    );
    expect(artPattern("the-question", "The Question").shapes).to.not.deep.equal(
      artPattern("supertux", "SuperTux").shapes,
    );
  });

  it("uses the initials of words that are not articles or prepositions", () => {
    const initials = (title: string): string => artPattern("x", title).initials;
    expect(initials("The Question")).to.equal("Q");
    expect(initials("lord of the blocks")).to.equal("LB");
    expect(initials("Ökolopoly – das Spiel")).to.equal("ÖD");
    expect(initials("The")).to.equal("T");
    expect(initials("!!!")).to.equal("");
  });
});
