import { expect } from "chai";
import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { promisify } from "node:util";
import { TestApi } from "#test/support/http/api.ts";
import { repositoryRoot } from "#test/support/processes/programs.ts";

const run = promisify(execFile);

describe("the README's partner quick start", function () {
  this.timeout(120_000);
  let api: TestApi;
  const directory = mkdtempSync(join(tmpdir(), "joypod-quick-start-"));

  before(async () => {
    api = await TestApi.start({ kube: true, minio: true });
  });
  after(async () => {
    await api.stop();
    rmSync(directory, { recursive: true });
  });

  it("runs as written, from creating the key to reading the game's sync status", async () => {
    const readme = readFileSync(join(repositoryRoot, "README.md"), "utf8");
    const commands = [...readme.matchAll(/^```sh partner\n(.*?)^```$/gms)]
      .map(([, block]) => block)
      .join("\n");
    expect(commands).to.contain("partner key create").and.contain("/upload").and.contain("/sync");
    // The command line itself instead of the way to it in a cluster; everything else is what a partner types.
    const { stdout } = await run("bash", ["-euo", "pipefail", "-c", commands], {
      cwd: directory,
      env: {
        PATH: [join(repositoryRoot, "api/bin"), process.env["PATH"]].join(delimiter),
        DATABASE_URL: api.deps.config.postgres.url,
        JOYPOD_URL: api.url,
      },
    });
    const [registered, uploaded, sync] = stdout
      .split("\n")
      .filter((line) => line.startsWith("{"))
      .map((line) => JSON.parse(line) as Record<string, unknown>);
    expect(registered).to.include({ slug: "my-game", status: "pending_upload" });
    expect(uploaded).to.include({ status: "ok", slug: "my-game" });
    expect(sync).to.include({ slug: "my-game", cachedOn: 0 });
    const game = await api.deps.postgres.prisma.game.findUniqueOrThrow({
      where: { slug: "my-game" },
      include: { partner: true },
    });
    expect({ status: game.status, partner: game.partner.name }).to.deep.equal({
      status: "active",
      partner: "My Studio",
    });
  });
});
