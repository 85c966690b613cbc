import { expect } from "chai";
import { languageNames } from "#web/catalog/languageNames.ts";

describe("languageNames", () => {
  it("writes the names of language tags, and a malformed tag as it is", () => {
    expect(languageNames(["en", "pt-BR", "not a tag"])).to.equal("English, Brazilian Portuguese, not a tag");
  });
});
