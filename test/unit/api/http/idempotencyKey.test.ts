import { expect } from "chai";
import { parseIdempotencyKey } from "#api/http/idempotency.ts";

describe("parseIdempotencyKey", () => {
  const accepted: Record<string, string> = {
    "8e03978e-40d5-43dd-bc93-6894a57f9324": "8e03978e-40d5-43dd-bc93-6894a57f9324",
    '"8e03978e"': "8e03978e",
    '"with space, and \\"quotes\\" and \\\\"': 'with space, and "quotes" and \\',
    "  padded  ": "padded",
    ["x".repeat(255)]: "x".repeat(255),
    [`"${"x".repeat(255)}"`]: "x".repeat(255),
  };
  for (const [header, key] of Object.entries(accepted)) {
    it(`accepts ${header.slice(0, 40)}`, () => {
      expect(parseIdempotencyKey(header)).to.equal(key);
    });
  }

  for (const header of [
    "",
    '""',
    '"open',
    'close"',
    '"a"b"',
    '"bad \\escape"',
    "two words",
    "a, b",
    '"a", "b"',
    "ü",
    '"ü"',
    "a\u0000",
    "x".repeat(256),
    "[a]",
  ]) {
    it(`refuses ${JSON.stringify(header.slice(0, 40))} as malformed`, () => {
      expect(() => parseIdempotencyKey(header))
        .to.throw(/Idempotency-Key must be/)
        .with.property("code", "invalid_request");
    });
  }
});
