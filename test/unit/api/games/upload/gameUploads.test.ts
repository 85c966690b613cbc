import { expect } from "chai";
import { DomainError } from "#api/errors.ts";
import {
  GameUploads,
  gameUploadsOfPartnerMax,
  ownNames,
  sharedNamesMax,
} from "#api/games/upload/gameUploads.ts";

describe("GameUploads", () => {
  let ended: PromiseWithResolvers<undefined>;
  let uploads: GameUploads;
  let untilEnded: Promise<undefined>[];

  beforeEach(() => {
    ended = Promise.withResolvers();
    untilEnded = [];
    uploads = new GameUploads();
  });
  afterEach(async () => {
    ended.resolve(undefined);
    await Promise.all(untilEnded);
  });

  /** Begins an upload that keeps so many names until the end of the test. */
  function keep(partnerId: string, names: number): void {
    untilEnded.push(
      uploads.run(partnerId, (keepNames) => {
        keepNames(names);
        return ended.promise;
      }),
    );
  }

  const receive = (names: number): Promise<void> =>
    uploads.run("last", async (keepNames) => {
      for (let kept = 0; kept < names; kept += 1000) keepNames(kept);
      await Promise.resolve();
    });

  it("ends an upload with very many names with unavailable when the shared names are used up, and lets one with few names pass", async () => {
    for (const partnerId of ["first", "second"]) keep(partnerId, sharedNamesMax / 2 + ownNames);
    const error = await receive(ownNames + 2000).then(
      () => undefined,
      (cause: unknown) => cause,
    );
    expect(error).to.be.an.instanceOf(DomainError);
    expect((error as DomainError).code).to.equal("unavailable");
    await receive(ownNames);
  });

  it("frees the place of a waiting upload whose client has disconnected", async () => {
    for (let place = 0; place < gameUploadsOfPartnerMax; place += 1) keep("first", 1);
    const gone = new AbortController();
    let hasBegun = false;
    const waiting = uploads
      .run(
        "first",
        () => {
          hasBegun = true;
          return Promise.resolve();
        },
        gone.signal,
      )
      .catch((error: unknown) => error);
    gone.abort(new Error("gone"));
    expect(await waiting).to.have.property("message", "gone");
    ended.resolve(undefined);
    await uploads.run("first", () => Promise.resolve());
    expect(hasBegun).to.equal(false);
  });

  it("frees the names of an upload that has ended or failed", async () => {
    for (let round = 0; round < 3; round += 1) {
      await receive(sharedNamesMax + ownNames);
      await receive(sharedNamesMax + ownNames + 2000).catch(() => undefined);
    }
    await receive(sharedNamesMax + ownNames);
  });
});
