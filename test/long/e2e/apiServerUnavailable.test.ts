import { setTimeout as delay } from "node:timers/promises";
import { expect } from "chai";
import { healApiServer, silenceApiServer } from "../../e2e/support/controlPlane.ts";
import { NodeFault } from "../../e2e/support/nodeFault.ts";

const outageMs = 60_000;

describe("an API server that is silent for a minute", () => {
  const faults = NodeFault.ofSuite();

  it("ends no game and holds up no keepalive, and what was started and stopped is done when it is back", async () => {
    const { playing, podUid, second: stopping, neighbour } = await faults.play();
    const [late, refused] = [await faults.player(), await faults.player()];
    faults.repairAfter(healApiServer);
    const starting = await late.launch();
    await stopping.stop();
    await silenceApiServer();

    const end = performance.now() + outageMs;
    const faultsSeen: string[] = [];
    let kept = 0;
    const launches: string[] = [];
    while (performance.now() < end) {
      for (const session of [playing, neighbour]) {
        const { http } = session.player;
        await http.keepAlive(session.id).then(() => kept++, (error: unknown) => faultsSeen.push(String(error)));
        await http.status(session.id).then(({ status }) => status === "running" || faultsSeen.push(status), (error: unknown) => faultsSeen.push(String(error)));
      }
      await refused.http.launch(refused.slug).then((id) => launches.push(id), (error: unknown) => launches.push(String(error)));
      // The rate of a page that is impatient; the loop is the outage.
      await delay(6_000);
    }
    await healApiServer();
    expect(faultsSeen, "keepalives and polls that failed").to.deep.equal([]);
    expect(kept).to.be.greaterThan(10);
    expect(launches.length).to.be.greaterThan(3);
    for (const launch of launches) expect(launch).to.include(": 503 ");

    await stopping.player.isFree();
    const { status } = await stopping.finishes();
    expect(status?.save?.final, JSON.stringify(status)).to.equal(true);
    await starting.runs();
    for (const session of [playing, neighbour]) expect((await session.player.http.status(session.id)).status).to.equal("running");
    expect(await playing.podUid(), "the pod").to.equal(podUid);
    const next = await stopping.player.playsOn();
    expect(next).to.include(stopping.id);
    for (const session of [playing, starting, neighbour]) await session.stop();
    await faults.expectOrder(playing, stopping, starting, neighbour);
  });
});
