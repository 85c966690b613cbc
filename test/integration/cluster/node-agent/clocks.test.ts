import { writeFileSync } from "node:fs";
import { systemClock } from "#runtime/scheduling/clock.ts";
import { JumpClock } from "#test/support/clocks/jumpClock.ts";
import { beforeEachWithNodeAgent, type NodeAgentFixture } from "#test/support/fixtures/nodeAgentFixture.ts";

describe("Node agent clock", function () {
  this.timeout(60_000);
  let fixture: NodeAgentFixture;

  beforeEachWithNodeAgent((fresh) => {
    fixture = fresh;
  });

  for (const minutes of [10, -10]) {
    it(`may be set ${minutes > 0 ? "forward" : "back"} by ten minutes while a game is saved`, async () => {
      const clock = new JumpClock();
      await fixture.startAgent({}, { clock, requestClock: systemClock });
      const name = await fixture.aRunningSession();
      writeFileSync(`${fixture.saves(name)}/progress`, "level 1");
      await fixture.storedSave(name, 1);
      clock.skewMs = minutes * 60_000;
      writeFileSync(`${fixture.saves(name)}/progress`, "level 2, which is longer");
      await fixture.storedSave(name, 2);
    });
  }
});
