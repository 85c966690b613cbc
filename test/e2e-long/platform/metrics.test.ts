import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { expect } from "chai";
import { eventually } from "#test/support/clocks/eventually.ts";
import { TestCard } from "#test/support/browser/testCard.ts";
import { panelsOf, type DashboardName } from "#test/support/metrics/dashboards.ts";
import { Prometheus } from "#test/support/metrics/prometheus.ts";
import { repositoryRoot } from "#test/support/processes/programs.ts";
import { gameArchive, publishGame } from "#test/e2e/support/games.ts";
import { platform } from "#test/e2e/support/platform.ts";
import { playersOfSuite } from "#test/e2e/support/players.ts";
import { ScrapeTargets } from "#test/e2e/support/scrapeTargets.ts";

/** Panels that have nothing to show here. */
const emptyHere: Readonly<Record<string, string>> = {
  "Relay: open connections": "this platform runs no relay",
  "Relay: bytes": "this platform runs no relay",
};

describe("the dashboards, with a Prometheus that scrapes the platform,", () => {
  const players = playersOfSuite();
  const id = randomBytes(3).toString("hex");
  let targets: ScrapeTargets;
  let prometheus: Prometheus;

  before(async () => {
    targets = await ScrapeTargets.open(await platform());
    prometheus = await Prometheus.start(targets.targets, [
      join(repositoryRoot, "charts/joypod/files/alerts.yaml"),
    ]);
    await eventually(async () => expect(await prometheus.targetFaults()).to.deep.equal([]), {
      timeoutMs: 20_000,
      intervalMs: 500,
      what: "all programs to be read",
    });
    // Prometheus sees only what happens after it has begun to look.
    await publishGame("testcard", { slug: `seen-${id}`, title: `Seen ${id}` }, await gameArchive("testcard"));
  });
  after(async () => {
    await prometheus.stop();
    await targets.close();
  });

  /** Waits until each expression of each panel has a number, with Grafana's variables set. */
  async function showsAll(name: DashboardName, session = ""): Promise<void> {
    await eventually(
      async () => {
        const empty: string[] = [];
        for (const { title, expressions } of panelsOf(name).filter((panel) => !(panel.title in emptyHere))) {
          for (const expression of expressions) {
            const numbers = await prometheus.query(
              expression.replaceAll("$session", session).replaceAll("$__rate_interval", "1m"),
            );
            if (numbers.length === 0) empty.push(`${title}: ${expression}`);
          }
        }
        expect(empty.join("\n"), `empty panels of the dashboard ${name}`).to.equal("");
        return true;
      },
      { timeoutMs: 45_000, intervalMs: 1_000, what: `all panels of the dashboard ${name} to show something` },
    );
  }

  it("show data in each panel while a session is played, and count its end", async () => {
    const { game } = await players.signIn();
    await game.openGame(`Seen ${id}`);
    await game.startNewGame(1);
    await new TestCard(game).showsPresses(0);
    await showsAll("session", game.sessionId());
    await showsAll("platform");
    await game.stop();
    await eventually(
      async () =>
        expect(
          await prometheus.query('sum(joypod_sessions_finished_total{reason="UserRequested"})'),
        ).to.satisfy(([count]: number[]) => (count ?? 0) >= 1),
      { timeoutMs: 20_000, intervalMs: 500, what: "the end to be counted" },
    );
  });

  it("come with alerts that Prometheus can evaluate", async () => {
    await eventually(async () => expect(await prometheus.ruleFaults()).to.deep.equal([]), {
      timeoutMs: 20_000,
      intervalMs: 500,
      what: "every alert to be evaluated",
    });
  });

  it("show nothing for a session that does not exist", async () => {
    for (const { title, expressions } of panelsOf("session")) {
      for (const expression of expressions)
        expect(await prometheus.query(expression.replaceAll("$session", "gs-none")), title).to.deep.equal([]);
    }
  });
});
