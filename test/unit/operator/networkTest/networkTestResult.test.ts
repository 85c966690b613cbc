import { expect } from "chai";
import { networkTestResult } from "#operator/networkTest/networkTestResult.ts";

describe("networkTestResult", () => {
  it("is good only where what is allowed opens and what is denied does not", () => {
    expect(networkTestResult(true, false)).to.include({ isEnforced: true });
    expect(networkTestResult(true, true)).to.include({ isEnforced: false });
    expect(networkTestResult(false, true)).to.include({ isEnforced: false });
    expect(networkTestResult(false, false)).to.include({ isEnforced: false });
  });

  it("says what was found", () => {
    expect(networkTestResult(true, true).sentence).to.contain("does not enforce NetworkPolicies");
    expect(networkTestResult(false, false).sentence).to.contain("It is unknown");
  });
});
