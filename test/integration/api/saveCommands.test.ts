import { expect } from "chai";
import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { SavesResponse } from "#contracts/http/saves.ts";
import { aSave, SavesFixture } from "#test/support/fixtures/savesFixture.ts";
import { joypodProgram } from "#test/support/processes/controlPlaneProgram.ts";

describe("joypod save", function () {
  this.timeout(120_000);
  let fixture: SavesFixture;
  let slotId: string;
  let folder: string;

  before(async () => {
    fixture = await SavesFixture.start();
    folder = mkdtempSync(join(tmpdir(), "joypod-saves-"));
  });
  beforeEach(async () => {
    await fixture.launches.newPlayer();
    slotId = await fixture.aSlot();
  });
  after(async () => {
    await fixture.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  async function save(
    command: string,
    args: string[] = [],
    stdin: Buffer = Buffer.alloc(0),
  ): Promise<{ code: number | null; stdout: Buffer; stderr: string }> {
    const { objectStore, postgres } = fixture.api.deps.config;
    const [program = "", ...first] = joypodProgram();
    const child = spawn(
      program,
      [
        ...first,
        "save",
        command,
        "--user",
        fixture.user.email.toUpperCase(),
        "--game",
        fixture.game.slug,
        ...args,
      ],
      {
        env: {
          PATH: process.env.PATH,
          DATABASE_URL: postgres.url,
          S3_ENDPOINT: objectStore.endpoint,
          S3_BUCKET: objectStore.bucket,
          S3_ACCESS_KEY: objectStore.accessKey,
          S3_SECRET_KEY: objectStore.secretKey,
        },
      },
    );
    const [stdout, stderr]: [Buffer[], Buffer[]] = [[], []];
    child.stdout.on("data", (bytes: Buffer) => stdout.push(bytes));
    child.stderr.on("data", (bytes: Buffer) => stderr.push(bytes));
    child.stdin.on("error", () => undefined).end(stdin);
    const code = await new Promise<number | null>((resolve, reject) =>
      child.once("error", reject).once("close", resolve),
    );
    return { code, stdout: Buffer.concat(stdout), stderr: Buffer.concat(stderr).toString() };
  }

  it("shows, exports, restores and imports a player's saves, and records it in the audit trail", async () => {
    const first = await fixture.aVersion(slotId, "one");
    const second = await fixture.aVersion(slotId, "two");
    const list = await save("list", ["--json"]);
    expect(JSON.parse(list.stdout.toString()) as SavesResponse, list.stderr).to.deep.equal(
      await fixture.saves(),
    );
    expect((await save("list")).stdout.toString())
      .to.contain(`${second.id}: played`)
      .and.contain("Slot 2: empty");

    const own = await save("export", ["--slot", "1", "--output", "-"]);
    expect(own.code, own.stderr).to.equal(0);
    expect(own.stdout.equals(second.archive)).to.be.true;
    const file = join(folder, "first.tar.gz");
    expect((await save("export", ["--slot", "1", "--version", first.id, "--output", file])).code).to.equal(0);
    expect(readFileSync(file).equals(first.archive)).to.be.true;

    expect((await save("restore", ["--slot", "1", "--version", first.id])).stdout.toString()).to.equal(
      `Slot 1 continues with version ${first.id}.\n`,
    );
    expect((await fixture.slot(slotId)).versions[0]).to.include({ kind: "restored", isCurrent: true });
    expect((await save("import", ["--slot", "1"], aSave("three"))).code).to.equal(0);
    expect((await fixture.slot(slotId)).versions[0]).to.include({ kind: "imported", isCurrent: true });
    const anew = await save("import", ["--json"], aSave("four"));
    expect(JSON.parse(anew.stdout.toString()), anew.stderr).to.deep.include({ slotNumber: 2, state: "free" });

    const trail = await fixture.api.deps.postgres.prisma.auditEvent.findMany({
      where: { subjectId: slotId },
      orderBy: { id: "asc" },
    });
    expect(trail.map(({ action, actorKind }) => `${actorKind} ${action}`)).to.deep.equal([
      "operator save.exported",
      "operator save.exported",
      "operator save.restored",
      "operator save.imported",
    ]);
  });

  it("explains that a game is no longer available, and what to do", async () => {
    const { id, archive } = await fixture.aVersion(slotId, "one");
    const { game: games } = fixture.api.deps.postgres.prisma;
    await games.update({ where: { id: fixture.game.id }, data: { deletedAt: new Date() } });
    try {
      for (const refused of [
        await save("restore", ["--slot", "1", "--version", id]),
        await save("import", [], aSave("two")),
      ]) {
        expect(refused.stderr)
          .to.contain(`The game ${fixture.game.slug} is no longer available.`)
          .and.contain("joypod save export");
        expect(refused.code).to.equal(4);
      }
      expect((await save("export", ["--slot", "1", "--output", "-"])).stdout.equals(archive)).to.be.true;
    } finally {
      await games.update({ where: { id: fixture.game.id }, data: { deletedAt: null } });
    }
  });

  it("fails with the exit codes of all commands, and changes nothing", async () => {
    const { id } = await fixture.aVersion(slotId, "one", { stored: Buffer.from("rotten") });
    const codes = async (...requests: [string, string[], Buffer?][]): Promise<(number | null)[]> => {
      const results: (number | null)[] = [];
      for (const [command, args, stdin] of requests) results.push((await save(command, args, stdin)).code);
      return results;
    };
    expect(
      await codes(
        ["export", ["--slot", "2", "--output", "-"]],
        ["export", ["--slot", "4", "--output", "-"]],
        ["import", ["--slot", "1"], Buffer.from("no gzip")],
        ["restore", ["--slot", "1", "--version", "none"]],
      ),
    ).to.deep.equal([4, 2, 2, 4]);
    const unreadable = await save("export", ["--slot", "1", "--output", "-"]);
    expect(unreadable.code).to.equal(1);
    expect(unreadable.stdout).to.have.length(0);
    expect(unreadable.stderr).to.contain("missing or damaged");
    await fixture.launches.launched({ saveSlotId: await fixture.aSlot(2) });
    expect(
      await codes(["import", ["--slot", "2"], aSave("x")], ["restore", ["--slot", "1", "--version", id]]),
    ).to.deep.equal([5, 1]);
  });
});
