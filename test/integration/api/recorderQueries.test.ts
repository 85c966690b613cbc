import { expect } from "chai";
import { listUnrecordedGameSessions } from "#api/gameSessions/recording/lifecycleQueries.ts";
import { Recorder } from "#api/gameSessions/recording/recorder.ts";
import { connectPostgres, type Postgres } from "#api/stores/postgres.ts";
import { eventually } from "#test/support/clocks/eventually.ts";
import { settle } from "#test/support/clocks/fakeClock.ts";
import { LaunchFixture } from "#test/support/fixtures/launchFixture.ts";
import { StatementLog } from "#test/support/stores/statementLog.ts";

describe("Recorder", function () {
  this.timeout(60_000);
  let fixture: LaunchFixture;
  let postgres: Postgres;
  let log: StatementLog;
  let recorder: Recorder;

  before(async () => {
    // The only recorder and the only session, so that nothing else causes a query.
    fixture = await LaunchFixture.start({ isLed: true });
    const { deps } = fixture.api;
    postgres = connectPostgres({ ...deps.config.postgres, logger: deps.logger });
    log = new StatementLog(postgres.pool);
    recorder = new Recorder({ ...deps, postgres }, deps.config.cluster.sessionsNamespace);
    await recorder.start(new AbortController().signal);
    await fixture.newPlayer();
  });
  after(async () => {
    await recorder.stop();
    await postgres.close();
    await fixture.stop();
  });

  async function pass(): Promise<void> {
    recorder.enqueueUnsettled(await listUnrecordedGameSessions(fixture.api.deps.postgres.pool));
    await settle();
  }

  function expectQuiet(what: string) {
    return eventually(async () => {
      const statements = await log.during(async () => {
        for (let count = 0; count < 20; count++) await pass();
      });
      return expect(statements, what).to.be.empty;
    });
  }

  it("sends no query for a session that agrees with its row, and reconciles one that does not", async () => {
    const { api, operator } = fixture;
    const id = await fixture.running();
    await expectQuiet("once it is recorded");
    await operator.makeReady(id, { podIp: "10.1.2.3" });
    await eventually(() => api.deps.cluster.gameSession(id)?.status?.podIp === "10.1.2.3", {
      what: "the change to come",
    });
    await expectQuiet("once the change is recorded");
    await api.deps.postgres.pool.query(
      "UPDATE game_sessions SET status = 'stopping', stop_reason = 'UserRequested' WHERE id = $1",
      [id],
    );
    const statements = await log.during(async () => {
      await pass();
      await eventually(async () => (await operator.session(id)).spec.desiredState === "Stopped", {
        what: "the stop that the row wants",
      });
    });
    expect(statements).to.not.be.empty;
  });
});
