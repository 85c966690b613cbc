import { expect } from "chai";
import { objectStoreSentence, WebIdentityError, StoreErrorResponse } from "#s3/objectStoreFailure.ts";

const failed = (code: string): Error => Object.assign(new Error("request failed"), { code });

describe("objectStoreSentence", () => {
  const sentences: [string, Error, RegExp | undefined][] = [
    [
      "a key without the right",
      new StoreErrorResponse(403, "AccessDenied", "Access Denied."),
      /may not use the bucket/,
    ],
    ["clocks that differ", new StoreErrorResponse(403, "RequestTimeTooSkewed"), /clock/],
    ["keys that have ended", new StoreErrorResponse(400, "ExpiredToken"), /temporary keys/],
    ["a bucket that AWS has elsewhere", new StoreErrorResponse(301, "PermanentRedirect"), /another region/],
    [
      "a region in a signed header",
      new StoreErrorResponse(400, "AuthorizationHeaderMalformed", "the region 'a' is wrong; expecting 'b'"),
      /another region/,
    ],
    [
      "a malformed header for another reason",
      new StoreErrorResponse(400, "AuthorizationHeaderMalformed", "no key"),
      undefined,
    ],
    ["what speaks another language", new StoreErrorResponse(404, undefined), /is not an object store/],
    ["a store that is not healthy", new StoreErrorResponse(503, undefined), undefined],
    ["one that is not healthy, in S3's words", new StoreErrorResponse(503, "SlowDown"), undefined],
    ["one that is unavailable", failed("ECONNREFUSED"), undefined],
    ["a host that nobody knows", failed("ENOTFOUND"), /The host name in S3_ENDPOINT cannot be resolved/],
    [
      "a token service behind another authority",
      new WebIdentityError("Unreachable", "away", failed("SELF_SIGNED_CERT_IN_CHAIN")),
      /^The token service has a certificate from an untrusted authority.*s3\.caSecret/,
    ],
    [
      "a token that is refused, as the client wraps it",
      new Error("Unable to get credentials", {
        cause: new WebIdentityError("Refused", "no", undefined, "AccessDenied"),
      }),
      /rejects the web identity's token \(AccessDenied\)/,
    ],
  ];
  for (const [what, error, sentence] of sentences) {
    it(`${sentence === undefined ? "returns undefined for" : "explains"} ${what}`, () => {
      const told = objectStoreSentence(new Error("of ours", { cause: error }));
      if (sentence === undefined) expect(told).to.equal(undefined);
      else expect(told).to.match(sentence);
    });
  }
});
