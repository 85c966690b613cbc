import { expect } from "chai";
import { ExpiryMoves } from "#api/gameSessions/sessions/keepGameSessionAlive.ts";
import type { GameSession } from "#contracts/crd/gameSession.ts";
import { ObjectCache } from "#kube/cache/cache.ts";
import { aGameSession, after, aRunningStatus } from "#test/factories/gameSession.ts";
import { FakeClock } from "#test/support/clocks/fakeClock.ts";

describe("ExpiryMoves", () => {
  let clock: FakeClock;
  let cache: ObjectCache<GameSession>;
  let moves: ExpiryMoves;
  let version: number;

  /** The session as the cluster has it from now on. */
  const aSession = (expiresAt: Date | undefined, changes: Parameters<typeof aGameSession>[0] = {}) =>
    aGameSession({
      ...changes,
      metadata: { name: "gs-a", resourceVersion: String(++version), ...changes.metadata },
      spec: expiresAt === undefined ? {} : { expiresAt: expiresAt.toISOString() },
    });

  beforeEach(() => {
    version = 0;
    clock = new FakeClock();
    cache = new ObjectCache<GameSession>();
    moves = new ExpiryMoves(cache, clock);
  });

  it("measures from the first sight of a session, and again from each change, whatever the time is", async () => {
    cache.upsert(aSession(after(60)));
    await clock.advance(5_000);
    expect(moves.unmovedMs("gs-a")).to.equal(5_000);
    cache.upsert(aSession(after(86_400)));
    expect(moves.unmovedMs("gs-a")).to.equal(0);
    await clock.advance(2_000);
    expect(moves.unmovedMs("gs-a")).to.equal(2_000);
  });

  it("ignores other changes of the session", async () => {
    cache.upsert(aSession(after(60)));
    await clock.advance(5_000);
    cache.upsert(aSession(after(60), { status: aRunningStatus() }));
    expect(moves.unmovedMs("gs-a")).to.equal(5_000);
  });

  it("includes sessions that were already cached", async () => {
    cache.upsert(aSession(after(60)));
    const later = new ExpiryMoves(cache, clock);
    await clock.advance(1_000);
    expect(later.unmovedMs("gs-a")).to.equal(1_000);
  });

  it("forgets a deleted session, and starts over for a new one of the same name", async () => {
    const first = aSession(after(60));
    cache.upsert(first);
    await clock.advance(5_000);
    cache.remove(first);
    expect(moves.unmovedMs("gs-a")).to.equal(0);
    await clock.advance(5_000);
    cache.upsert(aSession(after(60), { metadata: { uid: "another" } }));
    expect(moves.unmovedMs("gs-a")).to.equal(0);
  });

  it("returns 0 for an unknown session or one without an expiry", async () => {
    cache.upsert(aSession(undefined));
    await clock.advance(5_000);
    expect(moves.unmovedMs("gs-a")).to.equal(0);
    expect(moves.unmovedMs("gs-b")).to.equal(0);
  });
});
