import { expect } from "chai";
import fc from "fast-check";
import { readPictureFormat } from "#api/http/pictureFormat.ts";
import { aJpeg, anAvif, aPng, aWebp } from "#test/factories/pictures.ts";

const size = { width: 642, height: 360 };
const pictures = {
  "a PNG": { bytes: aPng(size), type: "image/png" },
  "a JPEG": { bytes: aJpeg({ ...size, frame: 0xc0 }), type: "image/jpeg" },
  "a progressive JPEG": { bytes: aJpeg({ ...size, frame: 0xc2 }), type: "image/jpeg" },
  "a lossy WebP": { bytes: aWebp("VP8 ", size), type: "image/webp" },
  "a lossless WebP": { bytes: aWebp("VP8L", size), type: "image/webp" },
  "an extended WebP": { bytes: aWebp("VP8X", size), type: "image/webp" },
  "an AVIF of tiles": { bytes: anAvif(size), type: "image/avif" },
} as const;

describe("readPictureFormat", () => {
  for (const [name, { bytes, type }] of Object.entries(pictures)) {
    it(`reads type and size of ${name}`, () => {
      expect(readPictureFormat(bytes)).to.deep.equal({ type, ...size });
    });

    it(`recognizes ${name} that was truncated`, () => {
      for (const length of [0, 1, 11, 20, 40, Math.floor(bytes.length / 2), bytes.length - 1]) {
        expect(readPictureFormat(bytes.subarray(0, length)), String(length)).to.be.undefined;
      }
    });
  }

  it("returns undefined for SVG, HTML, GIF, films and archives", () => {
    const others = [
      "<svg xmlns='http://www.w3.org/2000/svg'><script/></svg>",
      "<!doctype html><script>alert(1)</script>",
      "GIF89a\u0001\u0000\u0001\u0000;",
      "\u0000\u0000\u0000\u0014ftypavis",
      "\u0000\u0000\u0000\u0014ftypisom",
      "\u001f\u008b\u0008",
    ];
    for (const text of others)
      expect(readPictureFormat(Buffer.from(text.padEnd(200), "latin1")), text).to.be.undefined;
  });

  it("returns undefined for endlessly nested boxes", () => {
    const depth = 600_000;
    const bytes = Buffer.alloc(16 + 8 * depth);
    bytes.writeUInt32BE(16, 0);
    bytes.write("ftypavif", 4, "latin1");
    for (let level = 0; level < depth; level++) {
      bytes.writeUInt32BE(8 * (depth - level), 16 + 8 * level);
      bytes.write("iprp", 20 + 8 * level, "latin1");
    }
    expect(readPictureFormat(bytes)).to.be.undefined;
  });

  it("always ends, with a positive size or undefined, whatever the bytes are", () => {
    const beginnings = Object.values(pictures).map(({ bytes }) => bytes);
    fc.assert(
      fc.property(
        fc.constantFrom(...beginnings),
        fc.nat(60),
        fc.uint8Array({ maxLength: 80 }),
        (bytes, kept, rest) => {
          const format = readPictureFormat(Buffer.concat([bytes.subarray(0, kept), rest]));
          return format === undefined || (format.width > 0 && format.height > 0);
        },
      ),
    );
  });
});
