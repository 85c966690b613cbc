import { expect } from "chai";
import type { SavesResponse } from "#contracts/http/saves.ts";
import { ApiError } from "#web/client/apiError.ts";
import { saveAndWait, type SaveOutcome } from "#web/play/useSaveNow.ts";

/** Responses of the list, one per read. An Error fails that read. The last one is repeated. */
type Readings = (readonly string[] | Error)[];

describe("saveAndWait", () => {
  let clock = 0;
  let asked = 0;

  beforeEach(() => {
    clock = 0;
    asked = 0;
  });

  /** `notices` are the session's save notices, one per read. The last one is repeated. */
  function run(
    readings: Readings,
    { requestError, notices = [] }: { requestError?: Error; notices?: readonly (string | undefined)[] } = {},
  ): Promise<SaveOutcome> {
    let reads = 0;
    let looks = 0;
    return saveAndWait({
      readSaves: () => {
        const reading = readings[Math.min(reads++, readings.length - 1)] ?? [];
        return reading instanceof Error ? Promise.reject(reading) : Promise.resolve(savesWith(reading));
      },
      requestSave: () => {
        asked += 1;
        return requestError === undefined ? Promise.resolve() : Promise.reject(requestError);
      },
      saveNotice: () => notices[Math.min(looks++, notices.length - 1)],
      pause: (ms) => {
        clock += ms;
        return Promise.resolve();
      },
      now: () => clock,
    });
  }

  it("returns saved once a new version appears, even after a failed read", async () => {
    expect(await run([["old"], ["old"], new ApiError("unreachable", ""), ["new", "old"]])).to.equal("saved");
    expect(asked).to.equal(1);
    expect(clock).to.be.below(20_000);
  });

  it("returns later after 20 seconds without a new version", async () => {
    expect(await run([["old"]])).to.equal("later");
    expect(clock).to.be.within(20_000, 22_000);
  });

  it("requests a save without waiting if the earlier versions cannot be read", async () => {
    expect(await run([new ApiError("unreachable", ""), ["new"]])).to.equal("later");
    expect([asked, clock]).to.deep.equal([1, 0]);
  });

  it("returns notKept as soon as the session reports that nothing can be saved, for each request", async () => {
    expect(await run([["old"]], { notices: [undefined, undefined, "Nothing yet."] })).to.equal("notKept");
    expect(clock).to.be.below(20_000);
    expect(
      await run([["old"]], { notices: ["Nothing yet.", "Nothing yet.", undefined, "Nothing yet."] }),
    ).to.equal("notKept");
    expect(clock).to.be.below(20_000);
  });

  it("waits in case a notice from before the request becomes outdated", async () => {
    expect(await run([["old"], ["old"], ["new", "old"]], { notices: ["No room."] })).to.equal("saved");
    expect(await run([["old"]], { notices: ["No room."] })).to.equal("notKept");
    expect(clock).to.be.at.least(20_000);
  });

  it("throws the error of a refused request", async () => {
    const notRunning = new ApiError("not_running", "");
    expect(await run([[]], { requestError: notRunning }).catch((error: unknown) => error)).to.equal(
      notRunning,
    );
  });
});

/** A list whose first slot has requested versions with these ids, and a played one. */
function savesWith(ids: readonly string[]): SavesResponse {
  const common = { savedAt: "2026-03-10T12:00:00.000Z", bytes: 1, isCurrent: false, isReadable: true };
  const versions = [
    ...ids.map((id) => ({ ...common, id, kind: "requested" as const })),
    { ...common, id: `played-${ids.length}`, kind: "played" as const },
  ];
  return {
    slots: [{ id: "slot", slotNumber: 1, label: null, lastPlayedAt: null, state: "playing", versions }],
    saveBytesMax: 1,
  };
}
