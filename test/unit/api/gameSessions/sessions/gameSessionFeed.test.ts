import { expect } from "chai";
import type { GameSessionStatusResponse } from "#contracts/http/gameSessions.ts";
import {
  encodeEvent,
  parsePosition,
  type GameSessionEvent,
  GameSessionFeed,
} from "#api/gameSessions/sessions/gameSessionFeed.ts";
import type { GameSessionRow } from "#api/gameSessions/sessions/gameSessionQueries.ts";
import { aGameSession } from "#test/factories/gameSession.ts";
import { FakeClock } from "#test/support/clocks/fakeClock.ts";

const started = new Date("2030-01-01T00:00:00Z");

describe("GameSessionFeed", () => {
  let clock: FakeClock;
  let row: GameSessionRow;
  let shown: Partial<GameSessionStatusResponse>;
  let ending: GameSessionStatusResponse["ending"];
  let nextEndingMs: number | undefined;
  let feed: GameSessionFeed;

  beforeEach(() => {
    clock = new FakeClock(started);
    row = {
      id: "gs-a",
      status: "starting",
      gameSlug: "game",
      gameTitle: "Game",
      startedAt: started,
      readyAt: null,
      expiresAt: null,
      stopReason: null,
      stoppingAt: null,
      durationSeconds: null,
      cpuSeconds: null,
      peakMemoryMb: null,
      saveNotice: null,
      fullFolders: [],
      earlierSave: null,
      failureReason: null,
      stream: aGameSession().spec.stream,
      queue: null,
      maxDurationSeconds: 28_800,
      playLimitEndsAt: null,
    };
    shown = { stage: "scheduling" };
    ending = undefined;
    nextEndingMs = undefined;
    feed = openFeed();
  });

  /** Every wish to have the row read is granted at once, as the row is then. */
  function openFeed(): GameSessionFeed {
    const opened: GameSessionFeed = new GameSessionFeed({
      row,
      clock,
      warningSeconds: [300, 60],
      present: ({ id, status, gameTitle, startedAt, expiresAt }) => ({
        sessionId: id,
        status,
        gameTitle,
        startedAt: startedAt.toISOString(),
        serverUrl: null,
        containerUrl: null,
        ...(expiresAt !== null && { expiresAt: expiresAt.toISOString() }),
        ...(status === "starting" && shown),
        ...((status === "running" || status === "stopping") && ending && { ending }),
      }),
      nextEndingMs: () => nextEndingMs,
      nowMs: () => clock.now().getTime(),
      read: () => opened.take(row),
    });
    return opened;
  }

  function follow(
    lastEventId = "",
    of = feed,
  ): { events: GameSessionEvent[]; names: () => string[]; hasEnded: () => boolean; leave: () => void } {
    const events: GameSessionEvent[] = [];
    let ends = 0;
    const follower = {
      send: (event: GameSessionEvent) => void events.push(event),
      end: () => {
        ends++;
      },
    };
    of.follow(follower, lastEventId);
    return {
      events,
      names: () => events.map(({ name }) => name),
      hasEnded: () => ends === 1,
      leave: () => of.unfollow(follower),
    };
  }

  function run(expiresInSeconds: number): void {
    row = { ...row, status: "running", expiresAt: new Date(clock.now().getTime() + expiresInSeconds * 1000) };
    feed.take(row);
  }

  it("announces an end once, and when it moves, and sends the state when it is cancelled", () => {
    const { events, names } = follow();
    run(1800);
    ending = { reason: "drained", at: "2030-01-01T02:00:00.000Z", message: "New disks." };
    feed.update();
    feed.update();
    expect(names()).to.deep.equal(["stage", "running", "ending"]);
    expect(events.at(-1)?.data).to.deep.equal({ sessionId: "gs-a", ...ending });
    const announced = events.at(-1)?.id;
    expect(follow(announced).names(), "after a reconnect").to.deep.equal([]);
    expect(follow(events.at(1)?.id).names(), "after a reconnect that missed it").to.deep.equal(["ending"]);
    expect(follow().names(), "of a new page").to.deep.equal(["running", "ending"]);
    ending = { ...ending, at: "2030-01-01T01:00:00.000Z" };
    feed.update();
    ending = undefined;
    feed.update();
    expect(names().slice(3)).to.deep.equal(["ending", "running"]);
    expect(follow(announced).names(), "after a reconnect").to.deep.equal(["running"]);
  });

  it("announces the end of a session that stops at once before it is stopping, unless it was announced", () => {
    const { events, names } = follow();
    run(1800);
    const running = events.at(-1)?.id;
    row = { ...row, status: "stopping" };
    ending = { reason: "deleted", at: "2030-01-01T00:10:00.000Z" };
    feed.take(row);
    ending = { ...ending, at: "2030-01-01T00:10:01.000Z" };
    feed.take(row);
    expect(names()).to.deep.equal(["stage", "running", "ending", "stopping"]);
    expect(follow(running).names(), "after a reconnect").to.deep.equal(["ending", "stopping"]);
    expect(follow(events.at(-1)?.id).names(), "after a reconnect that missed nothing").to.deep.equal([]);
    row = { ...row, status: "stopped" };
    ending = undefined;
    feed.take(row);
    expect(names().slice(4)).to.deep.equal(["end"]);
  });

  it("reads the row when the next end is due to be announced", async () => {
    const { names } = follow();
    nextEndingMs = started.getTime() + 600_000;
    run(1800);
    await clock.advance(599_000);
    expect(names()).to.deep.equal(["stage", "running"]);
    ending = { reason: "max_duration", at: "2030-01-01T00:20:00.000Z" };
    nextEndingMs = undefined;
    await clock.advance(1_000);
    expect(names()).to.deep.equal(["stage", "running", "ending"]);
  });

  it("begins with the current state and sends each change once", () => {
    const { events, names } = follow();
    feed.update();
    shown = { stage: "downloading", progressPercent: 10 };
    feed.update();
    feed.update();
    shown = { stage: "downloading", progressPercent: 20 };
    feed.update();
    expect(names()).to.deep.equal(["stage", "stage", "stage"]);
    expect(
      events.map(({ data }) => ("progressPercent" in data ? data.progressPercent : undefined)),
    ).to.deep.equal([undefined, 10, 20]);
  });

  it("sends the end and releases its followers", () => {
    const { names, hasEnded } = follow();
    run(1800);
    row = { ...row, status: "stopping" };
    feed.take(row);
    row = { ...row, status: "stopped" };
    feed.take(row);
    expect(names()).to.deep.equal(["stage", "running", "stopping", "end"]);
    expect(hasEnded()).to.equal(true);
    expect(feed.isFollowed).to.equal(false);
    const late = follow();
    expect(late.names()).to.deep.equal(["end"]);
    expect(late.hasEnded()).to.equal(true);
  });

  it("sends nothing for keepalives, and nothing that the last event contained", () => {
    const first = follow();
    run(1800);
    run(1900);
    expect(first.names()).to.deep.equal(["stage", "running"]);
    expect(follow(first.events.at(-1)?.id).names()).to.deep.equal([]);
    expect(follow(first.events.at(0)?.id).names()).to.deep.equal(["running"]);
    expect(follow("made up").names()).to.deep.equal(["running"]);
  });

  it("warns at each lead time before the idle end, with the current end", async () => {
    const { events, names } = follow();
    run(1800);
    await clock.advance(1_499_000);
    expect(names()).to.deep.equal(["stage", "running"]);
    await clock.advance(2_000);
    expect(names().slice(2)).to.deep.equal(["expiring"]);
    expect(events.at(-1)?.data).to.deep.equal({
      sessionId: "gs-a",
      expiresAt: row.expiresAt?.toISOString(),
      secondsLeft: 300,
    });
    await clock.advance(240_000);
    expect(names().slice(2)).to.deep.equal(["expiring", "expiring"]);
    expect(events.at(-1)?.data).to.include({ secondsLeft: 60 });
  });

  it("does not warn when a keepalive has postponed the end, and revokes a warning when one does later", async () => {
    const { names } = follow();
    run(1800);
    await clock.advance(1_400_000);
    row = { ...row, expiresAt: new Date(clock.now().getTime() + 1_800_000) };
    await clock.advance(200_000);
    expect(names()).to.deep.equal(["stage", "running"]);
    await clock.advance(1_301_000);
    expect(names().slice(2)).to.deep.equal(["expiring"]);
    run(1800);
    expect(names().slice(2)).to.deep.equal(["expiring", "running"]);
  });

  it("sends a warning once to a follower that reconnects, here or to another process", async () => {
    run(200);
    const first = follow();
    expect(first.names()).to.deep.equal(["running", "expiring"]);
    const again = follow(first.events.at(-1)?.id);
    const elsewhere = follow(first.events.at(-1)?.id, openFeed());
    expect([...again.names(), ...elsewhere.names()]).to.deep.equal([]);
    expect(follow().names()).to.deep.equal(["running", "expiring"]);
    await clock.advance(150_000);
    expect(elsewhere.names()).to.deep.equal(["expiring"]);
  });

  it("tells a reconnecting follower once, in any process, that the idle end it was warned of was postponed", () => {
    run(200);
    const { events, leave } = follow();
    const lastId = events.at(-1)?.id;
    leave();
    run(1800);
    const again = follow(lastId);
    expect([again.names(), follow(lastId, openFeed()).names()]).to.deep.equal([["running"], ["running"]]);
    expect(again.events[0]?.data).to.include({ expiresAt: row.expiresAt?.toISOString() });
    expect(follow(again.events[0]?.id).names()).to.deep.equal([]);
    run(250);
    expect(follow(lastId, openFeed()).names(), "of an end that is near again").to.deep.equal([
      "running",
      "expiring",
    ]);
  });

  it("keeps no timer without followers", () => {
    const { leave } = follow();
    run(1800);
    expect(clock.pendingTimers).to.equal(1);
    leave();
    expect(clock.pendingTimers).to.equal(0);
  });

  it("encodes events as server-sent events with ids", () => {
    const { events } = follow();
    const [event] = events;
    expect(event && encodeEvent(event)).to.match(/^id: [\w-]{12}\.\nevent: stage\ndata: \{.*\}\n\n$/);
    expect(parsePosition(event?.id ?? "")).to.have.property("warning", "");
    expect(parsePosition("anything else")).to.equal(undefined);
  });
});
