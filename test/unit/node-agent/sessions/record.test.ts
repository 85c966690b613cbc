import { expect } from "chai";
import type { StoredSave } from "#contracts/crd/gameSession.ts";
import { saveKey } from "#contracts/objectKeys.ts";
import { withReported, type SessionRecord } from "#node-agent/sessions/record.ts";

describe("withReported", () => {
  const aSave = (sequence: number, attempt = 1, generation = 4): StoredSave => ({
    objectKey: saveKey("slot", { generation, gameSession: "gs", sequence, attempt }),
    sha256: "0".repeat(64),
    bytes: 1,
    generation,
    sequence,
    persistedAt: "2026-01-01T00:00:00Z",
    final: false,
  });
  const aRecord = (stored: StoredSave | undefined): SessionRecord => ({
    version: 2,
    namespace: "ns",
    gameSession: "gs",
    uid: "uid",
    contentDigest: "0".repeat(64),
    slotId: "slot",
    baseGeneration: 3,
    sequence: 0,
    ...(stored && { stored }),
  });

  for (const [what, stored, reported, expected] of [
    ["the reported save if its sequence is later", aSave(1), aSave(2), aSave(2)],
    ["the reported save if it comes from a later run of the packer", aSave(2), aSave(2, 2), aSave(2, 2)],
    ["the reported save if the record has none", undefined, aSave(1), aSave(1)],
    ["the recorded save if the reported one is older", aSave(2), aSave(1, 2), aSave(2)],
    ["the recorded save if the reported one has another generation", aSave(1), aSave(2, 1, 3), aSave(1)],
    ["the recorded save if none is reported", aSave(1), undefined, aSave(1)],
  ] as const) {
    it(`returns ${what}`, () => {
      expect(withReported(aRecord(stored), reported).stored).to.deep.equal(expected);
    });
  }
});
