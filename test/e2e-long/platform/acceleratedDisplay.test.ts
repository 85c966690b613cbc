import { expect } from "chai";
import { randomBytes } from "node:crypto";
import layout from "../../../games/testcard/layout.json" with { type: "json" };
import { isFinished } from "#contracts/crd/sessionState.ts";
import { TestCard } from "#test/support/browser/testCard.ts";
import { eventually } from "#test/support/clocks/eventually.ts";
import { gameArchive, publishGame } from "#test/e2e/support/games.ts";
import { platform, releaseNamespace, sessionsNamespace } from "#test/e2e/support/platform.ts";
import { playersOfSuite } from "#test/e2e/support/players.ts";

/** Sets what the chart makes of gpu.display, and waits until the operator has it. */
async function setDisplay(display: "auto" | "xwayland"): Promise<void> {
  const installed = await platform();
  const kubectl = (...args: string[]): Promise<string> =>
    installed.kubectl(["-n", releaseNamespace, ...args]);
  await kubectl("set", "env", "deploy/joypod-operator", `DISPLAY_SERVER=${display}`);
  await kubectl("rollout", "status", "deploy/joypod-operator", "--timeout=120s");
}

describe("the accelerated display, forced on a node without a GPU,", () => {
  const players = playersOfSuite();
  const id = randomBytes(3).toString("hex");
  const cards = [
    { api: "OpenGL", title: `Render Card ${id}`, slug: `rendercard-${id}`, launcher: "rendercard.sh" },
    { api: "Vulkan", title: `Vulkan Card ${id}`, slug: `vulkancard-${id}`, launcher: "vulkancard.sh" },
  ];

  before(async () => {
    const archive = await gameArchive("rendercard");
    for (const { title, slug, launcher } of cards)
      await publishGame("rendercard", { title, slug, launcher }, archive);
    await setDisplay("xwayland");
  });
  after(() => setDisplay("auto"));

  async function play(title: string) {
    const { game } = await players.signIn();
    await game.openGame(title);
    await game.startNewGame(1);
    return { game, card: new TestCard(game), ref: { namespace: sessionsNamespace, name: game.sessionId() } };
  }

  for (const { api, title } of cards) {
    it(`shows what a game draws with ${api}, passes keys to it, and reports the renderer`, async () => {
      const { game, card, ref } = await play(title);
      await card.shows(layout.keyBlock, "red");
      await game.pressKey("Space");
      await card.shows(layout.keyBlock, "green");
      const installed = await platform();
      const { status } = await installed.gameSessions.get(ref);
      expect(status?.stream).to.include({
        encoder: "x264enc",
        codec: "H264",
        width: 1280,
        height: 720,
        fps: 30,
      });
      expect(status?.stream?.renderer).to.match(/^llvmpipe/);
      expect(await installed.kubectl(["-n", ref.namespace, "get", "gsess", ref.name, "-o", "wide"])).to.match(
        /llvmpipe.*x264enc/,
      );
    });
  }

  it("ends the session with its reason when Xwayland dies while it is running", async () => {
    const { card, ref } = await play(cards[0]?.title ?? "");
    await card.shows(layout.keyBlock, "red");
    const installed = await platform();
    await installed.kubectl([
      "-n",
      ref.namespace,
      "exec",
      ref.name,
      "-c",
      "streamer",
      "--",
      "sh",
      "-c",
      "kill -KILL $(pidof Xwayland)",
    ]);
    const finished = await eventually(
      async () => {
        const session = await installed.gameSessions.get(ref);
        if (!isFinished(session)) throw new Error(JSON.stringify(session.status));
        return session;
      },
      { timeoutMs: 90_000, intervalMs: 500, what: "the session's end" },
    );
    expect(finished.status?.failure?.reason).to.be.oneOf(["StreamerFailed", "GameCrashed"]);
  });
});
