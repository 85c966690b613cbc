import { execFile } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { promisify } from "node:util";
import { expect } from "chai";
import { guideBlock, guideScript } from "#test/support/fixtures/guides.ts";
import { programPath, repositoryRoot } from "#test/support/processes/programs.ts";
import { eventually } from "#test/support/clocks/eventually.ts";
import { publishTestCard } from "./support/games.ts";
import { platform } from "./support/platform.ts";
import { playersOfSuite } from "./support/players.ts";

const run = promisify(execFile);

describe("docs/operations.md", () => {
  const players = playersOfSuite();
  let directory: string;
  let env: Record<string, string>;

  before(async () => {
    directory = mkdtempSync(join(tmpdir(), "joypod-operations-"));
    await run(process.execPath, [join(repositoryRoot, "tools/bundle/kubectlJoypod.ts"), directory]);
    const { kubeconfig } = await platform();
    const kubectl = await programPath("kubectl");
    env = {
      PATH: [directory, dirname(process.execPath), dirname(kubectl), process.env["PATH"] ?? ""].join(
        delimiter,
      ),
      KUBECONFIG: kubeconfig,
    };
  });
  after(() => rmSync(directory, { recursive: true }));

  const type = async (commands: string): Promise<string> =>
    (
      await run("bash", ["-euo", "pipefail", "-c", commands], {
        cwd: directory,
        env,
        maxBuffer: 16 * 2 ** 20,
        timeout: 120_000,
      })
    ).stdout;

  it("runs as written", async () => {
    const output = await type(guideScript("operations", ["operations"], {}));
    expect(output)
      .to.match(/^Release: +joypod /m)
      .and.match(/^Stores: +ready$/m)
      .and.match(/^NODE +OPEN +SLOTS/m);
    expect(output)
      .to.include("Message to players: We are back at 14:00.")
      .and.include("Maintenance has ended")
      .and.match(/joypod-support-[^\n]*\/logs\/joypod\/joypod-api-[^\n]*\/api\.log/);
    expect(output)
      .to.match(/node\/\S+ cordoned/)
      .and.match(/node\/\S+ uncordoned/);
  });

  it("restores a dump over a database of a later release, and leaves nothing of the latter", async () => {
    const postgres = "kubectl --namespace joypod exec --stdin statefulset/joypod-postgres --";
    const dumped = guideScript("operations", ["operations"], {})
      .split("\n")
      .find((line) => line.includes(" pg_dump "));
    // A database of the test's own in the place of the platform's.
    const inPlace = (commands: string): string =>
      commands.replace(/(--dbname|--force|createdb --username joypod) joypod\b/g, "$1 restored");
    const later = "CREATE TABLE later (game text REFERENCES games (id)); CREATE TABLE _later ()";
    const tables =
      "SELECT to_regclass('games') IS NOT NULL, to_regclass('later') IS NULL, to_regclass('_later') IS NULL";
    try {
      await type(
        `${dumped}\n${postgres} createdb --username joypod restored\n${postgres} pg_restore --username joypod --dbname restored < joypod.dump`,
      );
      await type(`${postgres} psql --username joypod --dbname restored --command "${later}"`);
      await type(inPlace(guideBlock("operations", "restore")));
      expect(
        await type(
          `${postgres} psql --username joypod --dbname restored --tuples-only --no-align --command "${tables}"`,
        ),
      ).to.equal("t|t|t\n");
    } finally {
      await type(`${postgres} dropdb --username joypod --if-exists restored`);
    }
  });

  it("shows a session's path to the player, rejects launches during maintenance, and stops the session with its save", async () => {
    const { title } = await publishTestCard();
    const { game } = await players.signIn();
    await game.openGame(title);
    await game.startNewGame(1);
    const id = game.sessionId();
    const story = await type(`kubectl joypod session ${id}`);
    for (const step of [
      "node chosen",
      "game files ready",
      "pod created",
      "game container started",
      "session ready",
      "viewer connected",
    ]) {
      expect(story, step).to.match(new RegExp(`^${step} +~?[\\d.]+ s `, "m"));
    }
    expect(await type("kubectl joypod sessions")).to.match(new RegExp(`^${id} +Running `, "m"));
    await type("kubectl joypod maintenance on --message 'We are back at 15:00.'");
    try {
      const { baseUrl } = await platform();
      await eventually(async () => (await (await fetch(`${baseUrl}/api/status`)).text()).includes("15:00"), {
        what: "the API to know of the maintenance",
      });
    } finally {
      await type("kubectl joypod maintenance off");
    }
    expect(await type(`kubectl joypod stop ${id}`)).to.match(new RegExp(`^${id} has ended`));
  });
});
