import { chown, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "chai";
import { sessionUserId } from "#contracts/nodeLayout.ts";
import { supervisedLaunches } from "#test/support/session/supervisedLaunches.ts";

describe("the environment of a supervised game", function () {
  this.timeout(60_000);
  const { launch } = supervisedLaunches();
  let folder: string;

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), "joypod-environment-"));
    await chown(folder, sessionUserId, sessionUserId);
  });
  after(() => rm(folder, { recursive: true, force: true }));

  it("has none of the variables that the cluster adds", async () => {
    const { exit, output } = await launch("env\n", {
      environment: {
        KUBERNETES_PORT: "tcp://10.96.0.1:443",
        KUBERNETES_SERVICE_HOST: "10.96.0.1",
        KUBERNETES_SERVICE_PORT: "443",
        HOSTNAME: "gs-one",
        KEPT: "yes",
      },
    });
    expect(await exit()).to.equal(0);
    expect(output()).to.match(/^KEPT=yes$/m);
    expect(output()).to.not.match(/^(KUBERNETES_|HOSTNAME=)/m);
  });

  it("has a runtime folder of its own with the given machine id", async () => {
    const runtime = join(folder, "given");
    const id = "0123456789abcdef".repeat(2);
    const { exit, output } = await launch(
      'stat -c "%a %u" "$XDG_RUNTIME_DIR"; cat "$XDG_RUNTIME_DIR/machine-id"\n',
      { environment: { XDG_RUNTIME_DIR: runtime, JOYPOD_MACHINE_ID: id } },
    );
    expect(await exit()).to.equal(0);
    expect(output().split("\n").slice(0, 2)).to.deep.equal([`700 ${sessionUserId}`, id]);
  });

  const ids: string[] = [];
  for (const given of ["", "not an id"])
    it(`has a random machine id if ${given === "" ? "none" : "an invalid one"} is given`, async () => {
      const { exit, output } = await launch('cat "$XDG_RUNTIME_DIR/machine-id"\n', {
        environment: { XDG_RUNTIME_DIR: join(folder, `random-${ids.length}`), JOYPOD_MACHINE_ID: given },
      });
      expect(await exit()).to.equal(0);
      const [id = ""] = output().split("\n");
      expect(id).to.match(/^[0-9a-f]{32}$/);
      expect(ids).to.not.include(id);
      ids.push(id);
    });

  it("has no runtime folder if it cannot be created, and the game starts", async () => {
    const { exit, output } = await launch("echo played\n", {
      environment: { XDG_RUNTIME_DIR: join(folder, "missing", "folder") },
    });
    expect(await exit()).to.equal(0);
    expect(output()).to.contain("cannot prepare XDG_RUNTIME_DIR: No such file or directory");
    expect(output()).to.contain("played\n");
  });
});
