import { expect } from "chai";
import { networkTestResult } from "#operator/networkTest/networkTestResult.ts";

describe("networkTestResult", () => {
  it("passes only if the allowed endpoint is reachable and the denied one is not", () => {
    expect(networkTestResult(true, false)).to.include({ isEnforced: true });
    expect(networkTestResult(true, true)).to.include({ isEnforced: false });
    expect(networkTestResult(false, true)).to.include({ isEnforced: false });
    expect(networkTestResult(false, false)).to.include({ isEnforced: false });
  });

  it("describes the result", () => {
    expect(networkTestResult(true, true).sentence).to.contain("does not enforce NetworkPolicies");
    expect(networkTestResult(false, false).sentence).to.contain("It is unknown");
  });
});
