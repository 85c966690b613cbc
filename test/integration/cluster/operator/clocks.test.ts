import { expect } from "chai";
import type { GameSession } from "#contracts/crd/gameSession.ts";
import { publicStatusOf, isFinished } from "#contracts/crd/sessionState.ts";
import type { Stored } from "#kube/api/object.ts";
import { OperatorFixture } from "#test/support/fixtures/operatorFixture.ts";

const isRunning = (session: GameSession): boolean => publicStatusOf(session) === "running";

for (const [what, skewMs] of [
  ["ten minutes ahead of", 600_000],
  ["ten minutes behind", -600_000],
] as const) {
  describe(`An operator whose clock is ${what} the others'`, function () {
    this.timeout(60_000);
    let fixture: OperatorFixture;
    let barriers = 0;

    beforeEach(async () => {
      fixture = await OperatorFixture.start();
    });

    afterEach(() => fixture.clear());

    const pass = (seconds: number): Promise<void> => fixture.pass(seconds * 1000);

    /** Returns a time of an accurate clock. */
    const inSeconds = (seconds: number): string =>
      new Date(fixture.clock.now().getTime() - fixture.clock.skewMs + seconds * 1000).toISOString();

    /** Replaces an operator with an accurate clock by another one. */
    async function takeOver(): Promise<void> {
      await fixture.stopOperators();
      fixture.clock.skewMs = skewMs;
      await fixture.startOperator();
    }

    async function running(
      spec: Parameters<OperatorFixture["launch"]>[0] = {},
    ): Promise<Stored<GameSession>> {
      const {
        metadata: { name },
      } = await fixture.launch(spec);
      return fixture.session(name, isRunning, "running session");
    }

    /**
     * Returns once the operator has done all pending work: a session launched afterwards has started and
     * ended.
     */
    async function everythingDue(): Promise<void> {
      const { metadata } = await running({ userId: `barrier-${++barriers}` });
      await fixture.sessions.mergePatch(metadata, {
        spec: { desiredState: "Stopped", stopReason: "UserRequested" },
      });
      await fixture.session(metadata.name, isFinished, "finished session");
    }

    async function stillRuns({ metadata }: Stored<GameSession>, when: string): Promise<void> {
      await everythingDue();
      expect(isRunning(await fixture.sessions.get(metadata)), when).to.equal(true);
    }

    async function stops({ metadata }: Stored<GameSession>, reason: string): Promise<void> {
      const { status } = await fixture.session(
        metadata.name,
        (session) => session.status?.stoppingAt !== undefined,
        "the stop",
      );
      expect(status?.stopReason).to.equal(reason);
    }

    it("keeps a session while keepalives arrive, and ends it when they cease", async () => {
      fixture.clock.skewMs = skewMs;
      await fixture.startOperator();
      const session = await running({ idleTimeoutSeconds: 60, expiresAt: inSeconds(75) });
      for (let keepalive = 1; keepalive <= 2; keepalive++) {
        await pass(50);
        await fixture.sessions.mergePatch(session.metadata, { spec: { expiresAt: inSeconds(75) } });
        await stillRuns(session, `after keepalive ${keepalive}`);
      }
      await pass(60);
      await stillRuns(session, "after the idle timeout, which the database rules");
      await pass(16);
      await stops(session, "IdleTimeout");
    });

    it("ends a session that it takes over exactly at its maximum duration", async () => {
      await fixture.startOperator();
      const session = await running({ maxDurationSeconds: 600, idleTimeoutSeconds: 3600 });
      await takeOver();
      await stillRuns(session, "at once");
      await pass(540);
      await stillRuns(session, "shortly before its end");
      await pass(61);
      await stops(session, "MaxDuration");
    });

    it("continues its waits when its clock is adjusted", async () => {
      await fixture.startOperator();
      const session = await running({ maxDurationSeconds: 600, idleTimeoutSeconds: 3600 });
      await pass(300);
      fixture.clock.skewMs = skewMs;
      await stillRuns(session, "at once");
      await pass(240);
      await stillRuns(session, "shortly before its end");
      await pass(61);
      await stops(session, "MaxDuration");
    });

    it("keeps a finished session that it takes over exactly for its time to live", async () => {
      await fixture.startOperator();
      const { metadata } = await running({ ttlSecondsAfterFinished: 60 });
      await fixture.sessions.mergePatch(metadata, {
        spec: { desiredState: "Stopped", stopReason: "UserRequested" },
      });
      await fixture.session(metadata.name, isFinished, "finished session");
      await takeOver();
      await everythingDue();
      expect((await fixture.sessions.find(metadata))?.metadata.deletionTimestamp, "at once").to.equal(
        undefined,
      );
      expect(await fixture.sessions.find(metadata)).not.to.equal(undefined);
      await pass(61);
      await fixture.gone(metadata.name);
    });
  });
}
