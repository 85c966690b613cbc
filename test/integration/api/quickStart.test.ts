import { expect } from "chai";
import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { promisify } from "node:util";
import { PublishClient } from "#test/support/fixtures/publishClient.ts";
import { TestApi } from "#test/support/http/api.ts";
import { repositoryRoot } from "#test/support/processes/programs.ts";

const run = promisify(execFile);

describe("the README's partner quick start", function () {
  this.timeout(120_000);
  let api: TestApi;
  let client: PublishClient;

  before(async () => {
    client = await PublishClient.install();
    api = await TestApi.start({ kube: true, minio: true });
  });
  after(async () => {
    await api.stop();
    client.remove();
  });

  it("runs as written, from creating the key to listing the versions", async () => {
    const readme = readFileSync(join(repositoryRoot, "README.md"), "utf8");
    const commands = [...readme.matchAll(/^```sh partner\n(.*?)^```$/gms)]
      .map(([, block]) => block)
      .join("\n");
    expect(commands).to.contain("partner key create").and.contain("npx joypod-publish my-game");
    // The command line itself instead of the way to it in a cluster; everything else is what a partner types.
    const { stdout } = await run("bash", ["-euo", "pipefail", "-c", commands], {
      cwd: client.folder,
      env: {
        HOME: client.folder,
        PATH: [join(repositoryRoot, "api/bin"), process.env["PATH"]].join(delimiter),
        DATABASE_URL: api.deps.config.postgres.url,
        JOYPOD_URL: api.url,
      },
    });
    expect(stdout).to.match(/^Published my-game, version .*Players get it: .*^VERSION .* 1\.0 .* default /ms);
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
