import { setTimeout as delay } from "node:timers/promises";
import { expect } from "chai";
import { PlayerHttp } from "#test/support/http/playerHttp.ts";
import { healApiServer, silenceApiServer } from "#test/e2e/support/controlPlane.ts";
import { NodeFault } from "#test/e2e/support/nodeFault.ts";
import { platform } from "#test/e2e/support/platform.ts";

const outageMs = 60_000;
/** A launch waits three seconds for the API server before it is refused. */
const launchMs = 10_000;

describe("an API server that does not respond for a minute", () => {
  const faults = NodeFault.ofSuite();

  /** Who launches again and again, and gets no session. */
  async function anImpatientPlayer(): Promise<PlayerHttp> {
    const installed = await platform();
    return PlayerHttp.signIn(installed.baseUrl, await installed.createPlayer(), { timeoutMs: launchMs });
  }

  it("ends no game and delays no keepalive, and launches and stops complete when it is back", async () => {
    const { playing, podUid, second: stopping, neighbour } = await faults.play();
    const late = await faults.player();
    const refused = await anImpatientPlayer();
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
        await http.keepAlive(session.id).then(
          () => kept++,
          (error: unknown) => faultsSeen.push(String(error)),
        );
        await http.status(session.id).then(
          ({ status }) => status === "running" || faultsSeen.push(status),
          (error: unknown) => faultsSeen.push(String(error)),
        );
      }
      await refused.launch(late.slug).then(
        (id) => launches.push(id),
        (error: unknown) => launches.push(String(error)),
      );
      // No more launches in a minute than a player may try; the loop is the outage.
      await delay(3_000);
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
    for (const session of [playing, neighbour])
      expect((await session.player.http.status(session.id)).status).to.equal("running");
    expect(await playing.podUid(), "the pod").to.equal(podUid);
    const next = await stopping.player.playsOn();
    expect(next).to.include(stopping.id);
    for (const session of [playing, starting, neighbour]) await session.stop();
    await faults.expectOrder(playing, stopping, starting, neighbour);
  });
});
