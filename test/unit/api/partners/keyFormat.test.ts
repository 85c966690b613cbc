import { expect } from "chai";
import { createPartnerKey, isSameSecretHash, parsePartnerKey } from "#api/partners/keyFormat.ts";

describe("partner keys", () => {
  it("are parsed to the id and the hash that were stored", () => {
    const { key, keyId, secretHash } = createPartnerKey();
    expect(parsePartnerKey(key)).to.deep.equal({ keyId, secretHash });
  });

  it("are unique and do not contain their stored hash", () => {
    const keys = Array.from({ length: 100 }, createPartnerKey);
    expect(new Set(keys.map(({ key }) => key)).size).to.equal(100);
    for (const { key, secretHash } of keys) expect(key).not.to.contain(secretHash);
  });

  it("are refused if any single character is changed", () => {
    const { key } = createPartnerKey();
    for (let at = 0; at < key.length; at++) {
      const changed = key.slice(0, at) + (key[at] === "0" ? "1" : "0") + key.slice(at + 1);
      expect(parsePartnerKey(changed), `changed at ${at}`).to.be.undefined;
    }
  });

  it("are refused if truncated, extended or of another kind", () => {
    const { key } = createPartnerKey();
    for (const text of [
      "",
      "joypod_live",
      key.slice(0, -1),
      `${key}0`,
      ` ${key}`,
      key.toUpperCase(),
      `${key}\n`,
    ]) {
      expect(parsePartnerKey(text), JSON.stringify(text)).to.be.undefined;
    }
  });

  it("are compared by their hashes", () => {
    const [one, other] = [createPartnerKey(), createPartnerKey()];
    expect(isSameSecretHash(one.secretHash, one.secretHash)).to.be.true;
    expect(isSameSecretHash(one.secretHash, other.secretHash)).to.be.false;
    expect(isSameSecretHash(one.secretHash, one.secretHash.slice(1))).to.be.false;
  });
});
