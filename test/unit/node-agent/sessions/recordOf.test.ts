import { expect } from "chai";
import { parseSaveKey, saveKey } from "#contracts/objectKeys.ts";
import { recordOf } from "#node-agent/sessions/steps/prepare.ts";
import { aGameSession, aPlacedStatus, createdAt } from "#test/factories/gameSession.ts";

describe("recordOf", () => {
  const aSessionAfter = (...triedNodes: string[]) =>
    aGameSession({ status: aPlacedStatus({ placement: { attempt: 2, assignedAt: createdAt, triedNodes } }) });
  const mostNodes = Array.from({ length: 10 }, (_, index) => `node${index}`);

  for (const [what, session, node, expected] of [
    ["from zero on the session's first node", aSessionAfter(), "node1", 0],
    ["from zero if the status does not list the nodes", aGameSession(), "node1", 0],
    ["from ten million on the second node", aSessionAfter("node1"), "node2", 10_000_000],
    ["as before on a node that was given up", aSessionAfter("node1", "node2"), "node2", 10_000_000],
  ] as const) {
    it(`numbers saves ${what}`, () => {
      expect(recordOf(session, node).sequence).to.equal(expected);
    });
  }

  it("keeps numbers within a save's key after the maximum number of nodes", () => {
    const name = {
      generation: 1,
      gameSession: "gs",
      sequence: recordOf(aSessionAfter(...mostNodes), "last").sequence + 9_999_999,
      attempt: 1,
    };
    expect(parseSaveKey(saveKey("slot", name))).to.deep.equal(name);
  });
});
