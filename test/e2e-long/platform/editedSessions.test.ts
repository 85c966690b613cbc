import { expect } from "chai";
import { finalizers } from "#contracts/crd/names.ts";
import type { DiarySession } from "#test/e2e/support/diarySession.ts";
import { NodeFault } from "#test/e2e/support/nodeFault.ts";
import { platform, sessionsNamespace } from "#test/e2e/support/platform.ts";

describe("a GameSession that is starting, running or stopping", () => {
  const faults = NodeFault.ofSuite();

  const kubectl = async (...args: string[]): Promise<string> =>
    (await platform()).kubectl(["-n", sessionsNamespace, ...args]);
  const patch = (session: DiarySession, change: object, ...args: string[]): Promise<string> =>
    kubectl("patch", "gsess", session.id, "--type=merge", "--patch", JSON.stringify(change), ...args);

  interface AtEachPhase {
    starting: DiarySession;
    playing: DiarySession;
    stopping: DiarySession;
    /** What each of the latter two played after its last autosave: its last save alone has it. */
    marks: ReadonlyMap<DiarySession, string>;
  }

  /** Does it to three sessions, one in each phase. */
  async function inEachPhase(edit: (session: DiarySession) => Promise<unknown>): Promise<AtEachPhase> {
    const [first, second, third] = [await faults.player(), await faults.player(), await faults.player()];
    const [playing, stopping] = await Promise.all([first.play(), second.play()]);
    const marks = new Map([[stopping, await stopping.marks()]]);
    await stopping.beginsToStop();
    await edit(stopping);
    marks.set(playing, await playing.marks());
    await edit(playing);
    const starting = await third.launch();
    await starting.placedOn();
    await edit(starting);
    return { starting, playing, stopping, marks };
  }

  async function endsWithItsSave(session: DiarySession): Promise<void> {
    const { status } = await session.finishes();
    expect(status?.save?.final, JSON.stringify(status)).to.equal(true);
  }

  /**
   * All three players are free, have all that was played, or what was stored of it before the edit, and play
   * on.
   */
  async function playOn(
    { starting, playing, stopping, marks }: AtEachPhase,
    kept: "all" | "stored" = "all",
  ): Promise<void> {
    for (const session of [starting, playing, stopping]) await session.player.isFree();
    for (const session of [playing, stopping]) {
      const { id } = await session.player.freeSlot();
      const mark = marks.get(session) ?? "";
      expect(await session.player.playsOn({ saveSlotId: id })).to.include.members(
        kept === "all" ? [session.id, mark] : [session.id],
      );
    }
    await starting.player.playsOn({ fresh: true });
    await faults.expectOrder(starting, playing, stopping);
  }

  it("whose status is cleared manually continues in the same pod, or ends with its save", async () => {
    const uids = new Map<string, string>();
    const sessions = await inEachPhase(async (session) => {
      uids.set(session.id, await session.podUid().catch(() => ""));
      await patch(session, { status: null }, "--subresource=status");
    });
    const { starting, playing, stopping } = sessions;
    await endsWithItsSave(stopping);
    for (const session of [playing, starting])
      await session.becomes(({ status }) => status?.phase === "Running", "to be running");
    expect(await playing.podUid(), "the pod").to.equal(uids.get(playing.id));
    for (const session of [playing, starting]) {
      await session.writes();
      await session.stop();
      await endsWithItsSave(session);
    }
    await playOn(sessions);
  });

  it("whose status is set to finished manually ends, and keeps what was played", async () => {
    const sessions = await inEachPhase(async (session) => {
      const { status } = await session.object();
      const finished = {
        type: "Finished",
        status: "True",
        reason: "ByHand",
        message: "",
        lastTransitionTime: new Date().toISOString(),
      };
      const conditions = [...(status?.conditions ?? []).filter(({ type }) => type !== "Finished"), finished];
      await patch(session, { status: { conditions } }, "--subresource=status");
    });
    await playOn(sessions);
  });

  it("that is stopped manually ends with its save", async () => {
    const sessions = await inEachPhase((session) => patch(session, { spec: { desiredState: "Stopped" } }));
    await Promise.all([endsWithItsSave(sessions.playing), endsWithItsSave(sessions.stopping)]);
    await playOn(sessions);
  });

  it("rejects manual changes of player, game and slot", async () => {
    const session = await (await faults.player()).play();
    for (const spec of [
      { userId: "somebody" },
      { gameCacheRef: { name: "another" } },
      { saveSlot: { slotId: "another" } },
      { expiresAt: "2020-01-01T00:00:00Z" },
    ]) {
      const refused = await patch(session, { spec }).then(
        () => "taken",
        (error: unknown) => String(error),
      );
      expect(refused, JSON.stringify(spec)).to.match(/immutable|only moves forward/);
    }
    await session.stop();
    await session.finishes();
    await faults.expectOrder(session);
  });

  it("that is deleted manually ends with its save", async () => {
    const sessions = await inEachPhase((session) => kubectl("delete", "gsess", session.id, "--wait=false"));
    await playOn(sessions);
  });

  it("that is deleted manually without finalizers leaves nothing behind and keeps what was stored", async () => {
    const sessions = await inEachPhase(async (session) => {
      await kubectl("delete", "gsess", session.id, "--wait=false");
      const { metadata } = await session.object();
      expect(metadata.finalizers).to.include(finalizers.recorder);
      await patch(session, { metadata: { finalizers: null } });
    });
    await playOn(sessions, "stored");
  });
});
