import { expect } from "chai";
import { parseUploadMetadata } from "#api/games/resumable/tusRequest.ts";
import { limits } from "#contracts/limits.ts";

const encode = (text: string): string => Buffer.from(text).toString("base64");

describe("parseUploadMetadata", () => {
  it("returns what the query of an upload in one piece would", () => {
    const metadata = `filename ${encode("a.tar.gz")}, label ${encode(" 1.4 ")},notes ${encode("a\nb")},channel ${encode("beta")},autoActivate ${encode("false")}`;
    expect(parseUploadMetadata(metadata)).to.deep.equal({
      label: "1.4",
      notes: "a\nb",
      channel: "beta",
      autoActivate: false,
    });
    expect(parseUploadMetadata("")).to.deep.equal({});
    expect(parseUploadMetadata("filename,filetype")).to.deep.equal({});
  });

  for (const [what, metadata] of [
    ["a name without a value that needs one", "label"],
    ["a repeated name", `label ${encode("a")},label ${encode("b")}`],
    ["an unknown name", `color ${encode("a")}`],
    ["two spaces", `label  ${encode("a")}`],
    ["an empty pair", `label ${encode("a")},`],
    ["no base64", "label a!"],
    ["bytes that are not UTF-8", `label ${Buffer.from([0xff]).toString("base64")}`],
    ["a control character", `label ${encode("a\u0000")}`],
    ["too many characters", `filename ${"A".repeat(limits.partner.uploadMetadataMaxLength)}`],
  ] as const) {
    it(`refuses ${what}`, () => {
      expect(() => parseUploadMetadata(metadata))
        .to.throw()
        .with.property("code", "invalid_request");
    });
  }
});
