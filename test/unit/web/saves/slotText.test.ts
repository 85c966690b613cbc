import { expect } from "chai";
import {
  saveVersionKinds,
  type SaveSlotHistory,
  type SavesResponse,
  type SaveSlotState,
  type SaveVersion,
} from "#contracts/http/saves.ts";
import { ApiError } from "#web/client/apiError.ts";
import {
  findCurrentVersion,
  hasLateCopy,
  isTooLarge,
  describeKind,
  findLabelProblem,
  findReadableBefore,
  describeSavesCount,
  describeSlot,
  describeUploadError,
} from "#web/saves/slotText.ts";
import { savesPauseMs } from "#web/saves/useSaves.ts";

const mebibyte = 2 ** 20;

function aVersion(id: string, overrides: Partial<SaveVersion> = {}): SaveVersion {
  return {
    id,
    savedAt: "2026-03-10T12:00:00.000Z",
    bytes: 10,
    kind: "played",
    isCurrent: false,
    isReadable: true,
    ...overrides,
  };
}

function aSlot(state: SaveSlotState): SaveSlotHistory {
  return { id: "slot", slotNumber: 1, label: "One", lastPlayedAt: null, state, versions: [] };
}

describe("save texts", () => {
  it("name the origin of each kind of version", () => {
    expect(new Set(saveVersionKinds.map(describeKind)).size).to.equal(saveVersionKinds.length);
    expect(describeSlot(aSlot("free"))).to.equal("slot 1, “One”");
    expect(
      [0, 1, 3].map((count) =>
        describeSavesCount({ versions: Array.from({ length: count }, (_, at) => aVersion(String(at))) }),
      ),
    ).to.deep.equal(["no saves yet", "its save", "all of its 3 saves"]);
  });

  it("state the maximum size of a save", () => {
    expect(describeUploadError(new ApiError("payload_too_large", ""), 16 * mebibyte)).to.include(
      "at most 16 MB",
    );
    expect(describeUploadError(new ApiError("invalid_archive", ""), 16 * mebibyte)).to.include("not a save");
    expect([80 * mebibyte, 80 * mebibyte + 1].map((bytes) => isTooLarge(bytes, 16 * mebibyte))).to.deep.equal(
      [false, true],
    );
  });

  it("count a name's characters as the API does", () => {
    expect(findLabelProblem(`  ${"\u{1F600}".repeat(40)} `)).to.equal(undefined);
    expect(findLabelProblem("e\u0301".repeat(40))).to.equal(undefined);
    expect(
      findLabelProblem(`\t${"x".repeat(20)}\t\u2028\u0000${"x".repeat(19)}\u2029`),
      "pasted control characters are one space",
    ).to.equal(undefined);
    expect(findLabelProblem("x".repeat(41))).to.include("40 characters");
  });
});

describe("the versions of a slot", () => {
  it("offer the newest readable version before an unreadable one, unless it is already current", () => {
    const versions = [
      aVersion("d", { isReadable: false }),
      aVersion("c", { isReadable: false }),
      aVersion("b"),
      aVersion("a"),
    ];
    expect(findReadableBefore(versions, "d")?.id).to.equal("b");
    expect(findReadableBefore(versions, "a")).to.equal(undefined);
    expect(findReadableBefore(versions, "unknown")).to.equal(undefined);
    expect(
      findReadableBefore([aVersion("b", { isReadable: false }), aVersion("a", { isCurrent: true })], "b"),
    ).to.equal(undefined);
  });

  it("contain a late copy if a conflict is newer than the current save", () => {
    const [late, current, older] = [
      aVersion("c", { kind: "conflict" }),
      aVersion("b", { isCurrent: true }),
      aVersion("a", { kind: "conflict" }),
    ];
    expect(findCurrentVersion({ versions: [late, current] })?.id).to.equal("b");
    expect(hasLateCopy({ versions: [late, current, older] })).to.equal(true);
    expect(hasLateCopy({ versions: [current, older] })).to.equal(false);
    expect(hasLateCopy({ versions: [late] }), "without a current save").to.equal(true);
  });

  it("are polled more often while a slot is in use", () => {
    const saves = (...states: SaveSlotState[]): SavesResponse => ({
      slots: states.map(aSlot),
      saveBytesMax: 1,
    });
    expect(savesPauseMs(undefined)).to.equal(30_000);
    expect(savesPauseMs(saves("free", "empty", "free"))).to.equal(30_000);
    expect(savesPauseMs(saves("free", "storing"))).to.equal(5_000);
    expect(savesPauseMs(saves("playing", "free"))).to.equal(5_000);
  });
});
