import { expect } from "chai";
import { isFinished } from "#contracts/crd/sessionState.ts";
import { TestCard } from "#test/support/browser/testCard.ts";
import { eventually } from "#test/support/clocks/eventually.ts";
import { publishDiary } from "#test/e2e/support/diaryGame.ts";
import { readDiary, type DiarySession } from "#test/e2e/support/diarySession.ts";
import { publishTestCard } from "#test/e2e/support/games.ts";
import { NodeFault } from "#test/e2e/support/nodeFault.ts";
import { runOnNode } from "#test/e2e/support/nodeContainer.ts";
import { platform, sessionsNamespace } from "#test/e2e/support/platform.ts";
import { playersOfSuite } from "#test/e2e/support/players.ts";

describe("the pod of a session", () => {
  const faults = NodeFault.ofSuite();
  const players = playersOfSuite();

  const kubectl = async (args: string[], input?: string): Promise<string> =>
    (await platform()).kubectl(["-n", sessionsNamespace, ...args], input);

  /**
   * The session ends for this reason, with what it had written; the player is told, free, and plays on from
   * there.
   */
  async function endsAndGoesOn(session: DiarySession, reason: string): Promise<void> {
    const { status } = await session.finishes();
    expect(status?.failure?.reason, JSON.stringify(status)).to.equal(reason);
    expect(status?.save, JSON.stringify(status)).to.include({ final: true });
    expect(await readDiary(status?.save?.objectKey ?? "")).to.deep.equal([session.id]);
    const { player } = session;
    await player.isFree();
    expect((await player.http.status(session.id)).message, "what the player is told")
      .to.be.a("string")
      .and.not.equal("");
    const { id } = await player.freeSlot();
    const next = await player.play({ saveSlotId: id });
    await next.writes();
    await next.stop();
    const { status: end } = await next.finishes();
    expect(await readDiary(end?.save?.objectKey ?? "")).to.deep.equal([session.id, next.id]);
    await faults.expectOrder(session, next);
  }

  async function played(slug?: string): Promise<DiarySession> {
    const session = await (await faults.player(slug)).play();
    await session.writes();
    return session;
  }

  it("that runs out of memory ends with its save, and the next one gets more memory", async () => {
    const session = await played(await publishDiary("hungry.sh"));
    const before = (await session.object()).spec.resources;
    await kubectl(["exec", session.id, "-c", "game", "--", "touch", "/tmp/begin"]);
    await endsAndGoesOn(session, "OutOfMemory");
    const next = await session.player.launch();
    const { memoryBytes, memoryLimitBytes = memoryBytes } = (await next.object()).spec.resources;
    expect(memoryLimitBytes).to.be.greaterThan(before.memoryLimitBytes ?? before.memoryBytes);
  });

  it("that is evicted ends with its save", async () => {
    const session = await played();
    const eviction = {
      apiVersion: "policy/v1",
      kind: "Eviction",
      metadata: { name: session.id, namespace: sessionsNamespace },
    };
    await kubectl(
      ["create", "--raw", `/api/v1/namespaces/${sessionsNamespace}/pods/${session.id}/eviction`, "-f", "-"],
      JSON.stringify(eviction),
    );
    await endsAndGoesOn(session, "PodEvicted");
  });

  it("that is removed without a grace period ends with its newest pack", async () => {
    const session = await played();
    await kubectl(["delete", "pod", session.id, "--grace-period=0", "--force", "--wait=false"]);
    await endsAndGoesOn(session, "PodDeleted");
  });

  it("that is removed without a grace period while it starts frees its player", async () => {
    const player = await faults.player();
    const session = await player.launch();
    await eventually(
      () =>
        kubectl(["delete", "pod", session.id, "--grace-period=0", "--force", "--wait=false"]).then(
          () => true,
        ),
      {
        timeoutMs: 30_000,
        intervalMs: 100,
        what: "a pod to remove",
      },
    );
    const { status } = await session.finishes();
    expect(status?.failure?.reason, JSON.stringify(status)).to.be.oneOf(["PodDeleted", "PodLost"]);
    await player.isFree();
    const next = await player.play();
    await next.stop();
    await faults.expectOrder(session, next);
  });

  it("whose display dies ends with what its game had saved", async () => {
    const { title } = await publishTestCard();
    const { game } = await players.signIn();
    await game.openGame(title);
    await game.startNewGame(1);
    const card = new TestCard(game);
    await card.showsPresses(0);
    await game.pressKey("Space", 3);
    await card.showsPresses(3);
    const id = game.sessionId();
    await kubectl(["exec", id, "-c", "streamer", "--", "sh", "-c", "kill -KILL $(pidof Xvfb)"]);
    const { gameSessions } = await platform();
    const finished = await eventually(
      async () => {
        const session = await gameSessions.get({ namespace: sessionsNamespace, name: id });
        return isFinished(session) ? session : undefined;
      },
      { timeoutMs: 60_000, intervalMs: 500, what: "the session's end" },
    );
    expect(
      finished.status?.conditions?.find(({ type }) => type === "SavePersisted"),
      JSON.stringify(finished.status),
    ).to.include({ status: "True", reason: "Stored" });
    await game.openGame(title);
    await game.continueSlot(1);
    await card.showsPresses(3);
  });

  it("whose image is missing on its node is created on another one", async () => {
    const { node } = faults;
    const image = (
      await (
        await platform()
      ).kubectl([
        "-n",
        "joypod",
        "get",
        "deployment/joypod-operator",
        "-o",
        'jsonpath={.spec.template.spec.containers[0].env[?(@.name=="GAME_IMAGE")].value}',
      ])
    ).trim();
    const kept = `${image}-kept`;
    const images = (...args: string[]): Promise<string> =>
      runOnNode(node.name, "ctr", "-n", "k8s.io", "images", ...args);
    await images("tag", "--force", image, kept);
    faults.repairAfter(() => images("tag", "--force", kept, image));
    await images("rm", image);
    const player = await faults.player();
    const session = await faults.launchOn(node, player);
    await session.becomes(({ status }) => status?.nodeName === faults.other.name, "to be on the other node");
    await session.runs();
    await session.stop();
    await faults.expectOrder(session);
  });
});
