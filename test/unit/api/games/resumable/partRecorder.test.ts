import { expect } from "chai";
import type { StoredPart } from "#api/archives/multipartUpload.ts";
import { PartRecorder } from "#api/games/resumable/partRecorder.ts";

describe("PartRecorder", () => {
  const partOf = (part: number): StoredPart => ({ part, etag: `e${part}` });

  function recorderOf(isHeld = false): {
    recorder: PartRecorder;
    stored: number[][];
    failures: unknown[];
    finish: (error?: Error) => Promise<void>;
  } {
    const stored: number[][] = [];
    const failures: unknown[] = [];
    let statement = Promise.withResolvers<undefined>();
    const recorder = new PartRecorder({
      firstPart: 3,
      isHeld,
      store: async (parts) => {
        stored.push(parts.map(({ part }) => part));
        await statement.promise;
      },
      onFailure: (error) => void failures.push(error),
    });
    const finish = async (error?: Error): Promise<void> => {
      const { resolve, reject } = statement;
      statement = Promise.withResolvers<undefined>();
      if (error === undefined) resolve(undefined);
      else reject(error);
      await new Promise((next) => setImmediate(next));
    };
    return { recorder, stored, failures, finish };
  }

  it("records parts in order, and waits for missing ones", async () => {
    const { recorder, stored, finish } = recorderOf();
    recorder.add(partOf(4));
    await finish();
    expect(stored).to.deep.equal([]);
    recorder.add(partOf(3));
    await finish();
    expect(stored).to.deep.equal([[3, 4]]);
  });

  it("records parts that arrive during a statement with the next one", async () => {
    const { recorder, stored, finish } = recorderOf();
    recorder.add(partOf(3));
    for (const part of [6, 4, 5, 8]) recorder.add(partOf(part));
    await finish();
    expect(stored).to.deep.equal([[3], [4, 5, 6]]);
    await finish();
    expect(await recorder.take()).to.deep.equal([]);
  });

  it("returns what is not recorded when it ends", async () => {
    const { recorder, stored } = recorderOf(true);
    for (const part of [4, 3, 6]) recorder.add(partOf(part));
    expect(await recorder.take()).to.deep.equal([partOf(3), partOf(4)]);
    expect(stored).to.deep.equal([]);
  });

  it("reports the failure of a statement, and records no later part", async () => {
    const { recorder, stored, failures, finish } = recorderOf();
    const failure = new Error("no database");
    recorder.add(partOf(3));
    recorder.add(partOf(4));
    await finish(failure);
    recorder.add(partOf(5));
    await finish();
    expect(failures).to.deep.equal([failure]);
    expect(stored).to.deep.equal([[3]]);
    expect(await recorder.take().catch((error: unknown) => error)).to.equal(failure);
  });
});
