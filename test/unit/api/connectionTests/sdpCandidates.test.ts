import { expect } from "chai";
import { withCandidates } from "#api/connectionTests/routes.ts";

describe("withCandidates", () => {
  it("replaces the candidates with one per address, in order of preference", () => {
    const text = withCandidates(
      "v=0\r\na=candidate:1 1 UDP 1 10.0.0.1 9 typ host\r\na=end-of-candidates\r\na=mid:0\r\n",
      ["192.0.2.1", "2001:db8::1", "192.0.2.1"],
      19_999,
    );
    expect(text.split("\r\n")).to.deep.equal([
      "v=0",
      "a=mid:0",
      "a=candidate:1 1 UDP 2130706431 192.0.2.1 19999 typ host",
      "a=candidate:2 1 UDP 2130706175 2001:db8::1 19999 typ host",
      "a=end-of-candidates",
      "",
    ]);
  });
});
