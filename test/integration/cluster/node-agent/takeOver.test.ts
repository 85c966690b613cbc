import { writeFileSync } from "node:fs";
import { expect } from "chai";
import { eventually } from "#test/support/clocks/eventually.ts";
import { beforeEachWithNodeAgent, type NodeAgentFixture } from "#test/support/fixtures/nodeAgentFixture.ts";
import { expectDocumented } from "#test/support/metrics/metricsDocument.ts";
import { freePort } from "#test/support/processes/childProgram.ts";

describe("A second agent on a node", function () {
  this.timeout(90_000);
  let fixture: NodeAgentFixture;

  beforeEachWithNodeAgent(async (fresh) => {
    fixture = fresh;
    await fixture.createGameNode();
  });

  it("waits for the first one, as in an upgrade, while the session continues", async () => {
    const port = await freePort();
    fixture.startProcess({ HTTP_PORT: String(port) });
    await eventually(async () => (await fixture.gameNode()).status?.heartbeat, {
      timeoutMs: 30_000,
      what: "the first agent to serve the node",
    });
    let hasTakenOver = false;
    const taken = fixture.startAgent().then(() => {
      hasTakenOver = true;
    });

    const name = await fixture.aRunningSession();
    writeFileSync(`${fixture.saves(name)}/progress`, "level 1");
    await fixture.storedSave(name, 1);
    const metrics = await eventually(
      async () => {
        const shown = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
        return /^joypod_node_saves_total\{[^}]*outcome="stored"[^}]*\} 1$/m.test(shown) && shown;
      },
      { what: "the first agent to count the save" },
    );
    expectDocumented(metrics, ["Node agent", "API, operator and node agent"], { commonLabels: ["node"] });
    expect(metrics)
      .to.match(new RegExp(`^joypod_node_cache_capacity_bytes\\{node="${fixture.node}"\\} ${2 ** 30}$`, "m"))
      .and.match(
        /^joypod_kube_reconciles_total\{[^}]*controller="gameSession",outcome="(?:done|requeued)"[^}]*\} [1-9]/m,
      )
      .and.match(
        /^joypod_kube_client_requests_total\{[^}]*method="PATCH",resource="gamenodes\/status",code="200"[^}]*\} [1-9]/m,
      );
    expect(hasTakenOver, "while the first one serves a session").to.equal(false);
    expect(fixture.notReadyReason()).to.equal(
      "The agent has not started. Another agent may still serve this node.",
    );

    expect(await fixture.killProcess("SIGTERM")).to.equal(0);
    await taken;
    writeFileSync(`${fixture.saves(name)}/progress`, "level 2");
    const { objectKey } = await fixture.storedSave(name, 2);
    expect(await fixture.readSaved(objectKey, "progress")).to.equal("level 2");
    await eventually(() => fixture.notReadyReason() === undefined, { what: "the second agent to be ready" });
  });
});
