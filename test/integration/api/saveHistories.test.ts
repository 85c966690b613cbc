import { SavesFixture } from "#test/support/model/savesFixture.ts";
import { checkHistories } from "#test/support/model/savesHistories.ts";

/** The same histories in every run; `make test-long` has many more. */
const seed = 20_261_122;

describe("saves during failures of nodes, agents and stores", function () {
  this.timeout(120_000);
  let fixture: SavesFixture;

  before(async () => {
    fixture = await SavesFixture.start();
  });
  after(() => fixture.stop());

  it("are never lost, never go back, never mix players, and never lock a slot forever", async () => {
    await checkHistories(fixture, { seed, histories: 12, stepsMax: 40 });
  });
});
