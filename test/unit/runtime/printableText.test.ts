import { expect } from "chai";
import fc from "fast-check";
import { printableText } from "#runtime/printableText.ts";

describe("printableText", () => {
  it("keeps lines, tabs and all scripts", () => {
    expect(printableText("größe\t日本\r\nemoji 🎮\rnext\n")).to.equal("größe\t日本\nemoji 🎮\nnext\n");
  });

  it("shows escapes for terminal sequences, and for characters that change the order of text", () => {
    expect(printableText("\u001b]0;title\u0007\u009b31m\u202egnp.exe\u2066\u200b\ufeff")).to.equal(
      "\\x1b]0;title\\x07\\x9b31m\\u{202e}gnp.exe\\u{2066}\\u{200b}\\u{feff}",
    );
  });

  it("returns no control character for any bytes", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
        expect(printableText(bytes)).to.not.match(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/);
      }),
      { numRuns: 50 },
    );
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (text) => {
        expect(printableText(text)).to.not.match(
          /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069]/,
        );
      }),
    );
  });
});
