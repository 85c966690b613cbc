import { SavesFixture } from "#test/support/model/savesFixture.ts";
import { checkHistories } from "#test/support/model/savesHistories.ts";

/**
 * `SEED` is that of a failed test, which is then all that runs; without it each run makes other histories.
 */
const given = process.env["SEED"];
const seeds =
  given === undefined
    ? Array.from({ length: 5 }, (_, part) => (Date.now() + part) % 2 ** 31)
    : [Number(given)];

describe("saves, in many random histories,", function () {
  this.timeout(1_800_000);
  let fixture: SavesFixture;

  before(async () => {
    fixture = await SavesFixture.start();
  });
  after(() => fixture.stop());

  for (const seed of seeds) {
    it(`are never lost, never revert, never reach other players, and lock no player out (seed ${seed})`, async () => {
      await checkHistories(fixture, { seed, histories: 110, stepsMax: 30 });
    });
  }
});
