import { expect } from "chai";
import { DomainError } from "#api/errors.ts";
import { DatabaseOutages } from "#api/stores/databaseFailure.ts";
import { silentLogger } from "#runtime/logger.ts";
import { FakeClock } from "#test/support/clocks/fakeClock.ts";

const refused = (): Promise<string> =>
  Promise.reject(Object.assign(new Error("refused"), { code: "ECONNREFUSED" }));
const responds = (): Promise<string> => Promise.resolve("of the database");
const hangs = (): Promise<string> => Promise.withResolvers<string>().promise;

describe("DatabaseOutages", () => {
  let clock: FakeClock;
  let lines: string[];
  let outages: DatabaseOutages;
  let asked: number;

  beforeEach(() => {
    clock = new FakeClock();
    lines = [];
    asked = 0;
    const told = (_keys: object, sentence: string): void => void lines.push(sentence);
    outages = new DatabaseOutages({ clock, logger: { ...silentLogger, warn: told, info: told } });
  });

  const ask = (question: () => Promise<string>): Promise<string> =>
    outages.orElse(
      () => {
        asked++;
        return question();
      },
      () => "of something else",
    );

  it("returns the database's result, or the fallback's when the database is unavailable", async () => {
    expect(await ask(responds)).to.equal("of the database");
    expect(await ask(refused)).to.equal("of something else");
    expect(clock.pendingTimers).to.equal(0);
  });

  it("waits a second for a hanging database, and not again for each query", async () => {
    const first = ask(hangs);
    await clock.advance(999);
    let isSettled = false;
    void first.then(() => (isSettled = true));
    await clock.advance(0);
    expect(isSettled).to.equal(false);
    await clock.advance(1);
    expect(await first).to.equal("of something else");
    for (let count = 0; count < 5; count++) expect(await ask(hangs)).to.equal("of something else");
    expect(asked).to.equal(1);
  });

  it("lets one query a second find out whether the outage is over, while the others fail fast", async () => {
    await ask(refused);
    await clock.advance(1_000);
    const probe = ask(hangs);
    expect(await ask(responds)).to.equal("of something else");
    expect(asked).to.equal(2);
    await clock.advance(1_000);
    expect(await probe).to.equal("of something else");
    await clock.advance(1_000);
    expect(await ask(responds)).to.equal("of the database");
    expect(await ask(responds)).to.equal("of the database");
    expect(asked).to.equal(4);
  });

  it("logs the start and the end of an outage once", async () => {
    for (let count = 0; count < 3; count++) {
      await ask(refused);
      await clock.advance(1_000);
    }
    await ask(responds);
    expect(lines).to.have.length(2);
    expect(lines[0]).to.match(/^The database is unavailable/);
    expect(lines[1]).to.equal("The database is available again.");
  });

  it("passes an unavailable to the fallback, and throws every other error", async () => {
    const thrown = await outages
      .orElse(refused, (cause) => Promise.reject(cause))
      .catch((error: unknown) => error);
    expect(thrown).to.be.instanceOf(DomainError).and.include({ code: "unavailable" });
    const fault = new Error("column does not exist");
    await clock.advance(1_000);
    expect(await ask(() => Promise.reject(fault)).catch((error: unknown) => error)).to.equal(fault);
  });
});
