import { expect } from "chai";
import { TestCard } from "#test/support/browser/testCard.ts";
import { eventually } from "#test/support/clocks/eventually.ts";
import { publishTestCard } from "./support/games.ts";
import { namespaceOf, platform, releaseNamespace, sessionsNamespace } from "./support/platform.ts";
import { playersOfSuite } from "./support/players.ts";

/** Ends a program's pods as a crash would. */
const kill = (component: string) =>
  ["-n", namespaceOf(component), "delete", "pod", "-l", `app.kubernetes.io/component=${component}`, "--grace-period=0", "--force"];

describe("restarts", () => {
  const players = playersOfSuite();
  let title: string;

  before(async () => {
    ({ title } = await publishTestCard());
  });

  for (const component of ["operator", "node-agent"]) {
    it(`of the ${component} do not stop a session that starts`, async () => {
      const { game, userId } = await players.signIn();
      await game.openGame(title);
      const installed = await platform();
      const isRunning = game.startNewGame(1);
      const starting = await eventually(() => installed.gameSessionOf(userId), { intervalMs: 20, what: "the session" });
      expect(starting.status?.conditions?.find(({ type }) => type === "Ready")?.status).to.not.equal("True");
      expect(await installed.kubectl(kill(component))).to.match(/^pod ".*" force deleted/);
      await isRunning;
      await new TestCard(game).showsPresses(0);
    });
  }

  it("of the operator do not disturb a session that runs", async () => {
    const { game } = await players.signIn();
    await game.openGame(title);
    await game.startNewGame(1);
    const card = new TestCard(game);
    await card.showsPresses(0);
    const installed = await platform();
    const ref = { namespace: sessionsNamespace, name: game.sessionId() };
    const { uid } = (await installed.pods.get(ref)).metadata;
    expect(await installed.kubectl(kill("operator"))).to.match(/^pod ".*" force deleted/);
    await installed.kubectl(["-n", releaseNamespace, "rollout", "status", "deploy/joypod-operator", "--timeout=120s"]);
    await game.pressKey("Space", 2);
    await card.showsPresses(2);
    expect((await installed.pods.get(ref)).metadata.uid).to.equal(uid);
    const { cpuSeconds } = await game.stop();
    expect(cpuSeconds).to.be.greaterThan(0);
  });
});
