import { expect } from "chai";
import { createHash } from "node:crypto";
import {
  DigestCheck,
  formatSha256Digest,
  MalformedDigest,
  parseDigests,
} from "#api/archives/contentDigest.ts";

const body = Buffer.from("an archive");
const sha256 = createHash("sha256").update(body).digest();
const sha512 = createHash("sha512").update(body).digest();

function mismatchOf(...headers: (string | undefined)[]): string | undefined {
  const check = new DigestCheck(parseDigests(...headers));
  check.update(body);
  return check.mismatch(sha256);
}

describe("content digests", () => {
  it("match the body they were computed from", () => {
    expect(mismatchOf(undefined, undefined)).to.be.undefined;
    expect(mismatchOf(formatSha256Digest(sha256))).to.be.undefined;
    expect(mismatchOf(`sha-512=:${sha512.toString("base64")}:`, formatSha256Digest(sha256))).to.be.undefined;
  });

  it("name the algorithm that does not match", () => {
    const other = createHash("sha256").update("other").digest();
    expect(mismatchOf(formatSha256Digest(other))).to.equal("sha-256");
    const other512 = createHash("sha512").update("other").digest();
    expect(
      mismatchOf(`sha-256=:${sha256.toString("base64")}:, sha-512=:${other512.toString("base64")}:`),
    ).to.equal("sha-512");
  });

  it("are ignored if their algorithm is obsolete", () => {
    expect(mismatchOf("md5=:1B2M2Y8AsgTpgAmY7PhCfg==:, crc32c=:AAAAAA==:")).to.be.undefined;
  });

  it("are refused if they are malformed or contradictory", () => {
    const other = createHash("sha256").update("other").digest();
    for (const headers of [
      ["sha-256"],
      ["sha-256=abc"],
      ["sha-256=:AAAA:"],
      ["sha-256=:****:"],
      [""],
      ["sha-256=:" + sha256.toString("hex") + ":"],
      [formatSha256Digest(sha256), formatSha256Digest(other)],
    ]) {
      expect(() => parseDigests(...headers), headers.join()).to.throw(MalformedDigest);
    }
  });
});
