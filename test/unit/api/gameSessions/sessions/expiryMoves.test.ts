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

  it("count from when the session was first seen, and anew from each move, whatever time it says", async () => {
    cache.upsert(aSession(after(60)));
    await clock.advance(5_000);
    expect(moves.unmovedMs("gs-a")).to.equal(5_000);
    cache.upsert(aSession(after(86_400)));
    expect(moves.unmovedMs("gs-a")).to.equal(0);
    await clock.advance(2_000);
    expect(moves.unmovedMs("gs-a")).to.equal(2_000);
  });

  it("do not count another change of the session as a move", async () => {
    cache.upsert(aSession(after(60)));
    await clock.advance(5_000);
    cache.upsert(aSession(after(60), { status: aRunningStatus() }));
    expect(moves.unmovedMs("gs-a")).to.equal(5_000);
  });

  it("know of sessions that the cache had before", async () => {
    cache.upsert(aSession(after(60)));
    const later = new ExpiryMoves(cache, clock);
    await clock.advance(1_000);
    expect(later.unmovedMs("gs-a")).to.equal(1_000);
  });

  it("forget a session that is gone, and one of its name begins anew", async () => {
    const first = aSession(after(60));
    cache.upsert(first);
    await clock.advance(5_000);
    cache.remove(first);
    expect(moves.unmovedMs("gs-a")).to.equal(0);
    await clock.advance(5_000);
    cache.upsert(aSession(after(60), { metadata: { uid: "another" } }));
    expect(moves.unmovedMs("gs-a")).to.equal(0);
  });

  it("are none of a session without an expiry, nor of one that is not known", async () => {
    cache.upsert(aSession(undefined));
    await clock.advance(5_000);
    expect(moves.unmovedMs("gs-a")).to.equal(0);
    expect(moves.unmovedMs("gs-b")).to.equal(0);
  });
});
