import { expect } from "chai";
import { leaderLeases } from "#contracts/crd/names.ts";
import { isConditionTrue } from "#kube/api/conditions.ts";
import { TestCard } from "#test/support/browser/testCard.ts";
import { eventually } from "#test/support/clocks/eventually.ts";
import { publishTestCard } from "./support/games.ts";
import { platform, releaseNamespace, sessionsNamespace } from "./support/platform.ts";
import { playersOfSuite } from "./support/players.ts";

/** Waits until a pod of the operator leads that is none of those. */
async function anotherLeads(killed: readonly string[]): Promise<void> {
  const installed = await platform();
  await eventually(
    async () => {
      const holder = await installed.kubectl([
        "-n",
        releaseNamespace,
        "get",
        "lease",
        leaderLeases.operator,
        "-o",
        "jsonpath={.spec.holderIdentity}",
      ]);
      if (holder === "" || killed.includes(holder)) throw new Error(`the Lease is held by "${holder}"`);
      return true;
    },
    { timeoutMs: 60_000, intervalMs: 500, what: "another pod of the operator to lead" },
  );
}

describe("restarts", () => {
  const players = playersOfSuite();
  let title: string;

  before(async () => {
    ({ title } = await publishTestCard());
  });

  for (const component of ["operator", "node-agent"] as const) {
    it(`of the ${component} do not stop a starting session`, async () => {
      const { game, userId } = await players.signIn();
      await game.openGame(title);
      const installed = await platform();
      const isRunning = game.startNewGame(1);
      const starting = await eventually(() => installed.gameSessionOf(userId), {
        intervalMs: 20,
        what: "the session",
      });
      expect(isConditionTrue(starting.status?.conditions, "Ready")).to.equal(false);
      const killed = await installed.killPods(component);
      await isRunning;
      if (component === "operator") await anotherLeads(killed);
      await new TestCard(game).showsPresses(0);
    });
  }

  it("of the operator do not disturb a running session", async () => {
    const { game } = await players.signIn();
    await game.openGame(title);
    await game.startNewGame(1);
    const card = new TestCard(game);
    await card.showsPresses(0);
    const installed = await platform();
    const ref = { namespace: sessionsNamespace, name: game.sessionId() };
    const { uid } = (await installed.pods.get(ref)).metadata;
    await anotherLeads(await installed.killPods("operator"));
    await installed.kubectl([
      "-n",
      releaseNamespace,
      "rollout",
      "status",
      "deploy/joypod-operator",
      "--timeout=120s",
    ]);
    await game.pressKey("Space", 2);
    await card.showsPresses(2);
    expect((await installed.pods.get(ref)).metadata.uid).to.equal(uid);
    const { cpuSeconds } = await game.stop();
    expect(cpuSeconds).to.be.greaterThan(0);
  });
});
