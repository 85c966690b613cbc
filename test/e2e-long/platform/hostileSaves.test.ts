import { expect } from "chai";
import { eventually } from "#test/support/clocks/eventually.ts";
import { GameNodeHost } from "#test/e2e/support/gameNodeHost.ts";
import { hostileSavesOfSuite } from "#test/e2e/support/hostileSaves.ts";
import { nodesNamespace, platform, sessionsNamespace } from "#test/e2e/support/platform.ts";

describe("hostile saves", () => {
  const neighbours = hostileSavesOfSuite([
    { acts: ["deep", "links"], worst: [/^deep: done/, /^links: done/] },
    { acts: ["odd", "moving"], worst: [/^odd: done/, /^moving files: move/] },
    { acts: ["fill", "swap"], worst: [/^fill: done/, /^swap: done/] },
    { acts: ["names"], worst: [/^names made|^names so far: [2-9]\d{5}/] },
  ]);

  it("in a folder nested by kubectl do not prevent an agent from restarting", async () => {
    const [first] = neighbours;
    const script = 'cd /session/save; n=$(printf %0200d 0); for i in $(seq 30); do mkdir "$n"; cd "$n"; done';
    const installed = await platform();
    const kubectl = (...args: string[]): Promise<string> => installed.kubectl(args);
    await kubectl("-n", sessionsNamespace, "exec", first?.id ?? "", "-c", "game", "--", "bash", "-c", script);
    for (const neighbour of neighbours) await neighbour.movesOut();
    await installed.killPods("node-agent");
    await kubectl("-n", nodesNamespace, "rollout", "status", "daemonset/joypod-node-agent", "--timeout=120s");
    for (const { nodeName, id } of neighbours) {
      const host = new GameNodeHost(nodeName);
      await eventually(async () => (await host.agentLife()).isReady, {
        timeoutMs: 60_000,
        intervalMs: 500,
        what: "the agent to be ready",
      });
      expect((await host.agentLife()).restarts, "restarts of the agent").to.equal(0);
      await host.forgets(id);
    }
  });
});
