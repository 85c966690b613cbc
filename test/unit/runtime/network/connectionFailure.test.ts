import { expect } from "chai";
import { connectionFailureOf, connectionSentence } from "#runtime/network/connectionFailure.ts";

describe("connectionFailureOf", () => {
  const failed = (code: string, message = "failed"): Error => Object.assign(new Error(message), { code });

  it("finds the failure in the error, its causes and Prisma's driver error", () => {
    expect(connectionFailureOf(failed("CERT_HAS_EXPIRED"))).to.equal("outdated");
    expect(
      connectionFailureOf(new Error("of ours", { cause: failed("ERR_TLS_CERT_ALTNAME_INVALID") })),
    ).to.equal("otherName");
    const prisma = Object.assign(new Error("P1011"), {
      code: "P1011",
      meta: {
        driverAdapterError: new Error("TlsConnectionError", {
          cause: { kind: "TlsConnectionError", reason: "self-signed certificate in certificate chain" },
        }),
      },
    });
    expect(connectionFailureOf(prisma)).to.equal("untrusted");
    expect(connectionFailureOf(new Error("The server does not support SSL connections"))).to.equal("noTls");
    expect(connectionFailureOf(failed("EAI_AGAIN"))).to.equal("unknownHost");
  });

  it("returns undefined for temporary errors, cyclic causes and non-errors", () => {
    const circle: { cause?: unknown } = new Error("a");
    circle.cause = circle;
    for (const error of [
      failed("ECONNREFUSED"),
      failed("ETIMEDOUT"),
      circle,
      "CERT_HAS_EXPIRED",
      undefined,
      null,
    ])
      expect(connectionFailureOf(error)).to.equal(undefined);
  });

  it("has a message for each failure", () => {
    const words = { server: "The store", address: "STORE_URL", authority: "STORE_CA_FILE" };
    const sentences = (["untrusted", "otherName", "outdated", "noTls", "unknownHost"] as const).map(
      (failure) => connectionSentence(failure, words),
    );
    expect(new Set(sentences).size).to.equal(5);
    for (const sentence of sentences) expect(sentence).to.match(/STORE_(?:URL|CA_FILE)|renew it/);
  });
});
