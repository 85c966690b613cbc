import { expect } from "chai";
import { newGameSessionId } from "#api/gameSessions/id.ts";

describe("newGameSessionId", () => {
  /** What the network plugin of EKS has one set of rules for, on each node. */
  const withoutLastPart = (id: string): string => id.slice(0, id.lastIndexOf("-"));

  it("makes ids of one form for all sessions without network, and no two the same", () => {
    const [one, other] = [newGameSessionId("none"), newGameSessionId("none")];
    expect(one)
      .to.match(/^gs-[0-9a-z]{20}$/)
      .and.not.equal(other);
    expect(withoutLastPart(one)).to.equal(withoutLastPart(other));
  });

  it("tells sessions with internet from those without by more than the last part", () => {
    const id = newGameSessionId("internet");
    expect(id).to.match(/^gs-net-[0-9a-z]{20}$/);
    expect(withoutLastPart(id)).to.not.equal(withoutLastPart(newGameSessionId("none")));
  });
});
