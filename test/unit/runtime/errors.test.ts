import { expect } from "chai";
import { systemErrorCode } from "#runtime/errors.ts";

describe("systemErrorCode", () => {
  const failed = (code: string, errno: number): Error => Object.assign(new Error(code), { code, errno });

  it("returns the code of a system call error", () => {
    expect(systemErrorCode(failed("ENOENT", -2))).to.equal("ENOENT");
    expect(systemErrorCode(new Error("of ours"))).to.equal(undefined);
  });

  it("returns a code for errors without a name in Node.js", () => {
    const codes = [-74, -117, -122].map((errno) =>
      systemErrorCode(failed(`Unknown system error ${errno}`, errno)),
    );
    expect(codes).to.deep.equal(["EBADMSG", "EUCLEAN", "EDQUOT"]);
  });
});
