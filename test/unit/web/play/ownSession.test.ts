import { expect } from "chai";
import { ApiError } from "#web/client/apiError.ts";
import { ownSession } from "#web/play/ownSession.ts";

describe("ownSession", () => {
  const session = { status: "running" } as const;

  it("is what was last read, also while requests fail", () => {
    expect(ownSession(session, null)).to.equal(session);
    expect(ownSession(session, new ApiError("unreachable", ""))).to.equal(session);
  });

  it("is none once the player has no such session", () => {
    expect(ownSession(session, new ApiError("not_found", ""))).to.equal(undefined);
  });
});
