import { execFile } from "node:child_process";
import { gzipSync } from "node:zlib";
import { expect } from "chai";
import { limits } from "#contracts/limits.ts";
import { runOutputKey } from "#contracts/objectKeys.ts";
import { readRunOutput, sweepRunOutputs } from "#api/gameSessions/recording/runOutputs.ts";
import { systemErrorCode } from "#runtime/errors.ts";
import { TestApi } from "#test/support/http/api.ts";
import { joypodProgram } from "#test/support/processes/controlPlaneProgram.ts";

const dayMs = 24 * 3600_000;

describe("stored outputs of games", function () {
  this.timeout(120_000);
  let api: TestApi;

  before(async () => {
    api = await TestApi.start({ minio: true });
  });
  after(() => api.stop());

  async function store(gameSession: string, packed: Buffer): Promise<void> {
    const { client, bucket } = api.deps.objectStore;
    await client.putObject(bucket, runOutputKey(gameSession), packed);
  }

  async function joypod(args: string[]): Promise<{ code: number; stdout: string; stderr: string }> {
    const { objectStore, postgres } = api.deps.config;
    const [program = "", ...first] = joypodProgram();
    const env = {
      PATH: process.env.PATH,
      DATABASE_URL: postgres.url,
      S3_ENDPOINT: objectStore.endpoint,
      S3_BUCKET: objectStore.bucket,
      S3_ACCESS_KEY: objectStore.accessKey,
      S3_SECRET_KEY: objectStore.secretKey,
    };
    return new Promise((resolve) =>
      execFile(program, [...first, ...args], { env }, (error, stdout, stderr) =>
        resolve({ code: typeof error?.code === "number" ? error.code : 0, stdout, stderr }),
      ),
    );
  }

  it("are printed by joypod session log, with control characters as escapes", async () => {
    await store("gs-1", gzipSync("loading\n\u001b]0;owned\u0007\u001b[2Jlibfoo.so: not found\n"));
    expect(await joypod(["session", "log", "gs-1"])).to.deep.equal({
      code: 0,
      stdout: "loading\n\\x1b]0;owned\\x07\\x1b[2Jlibfoo.so: not found\n",
      stderr: "",
    });
    const missing = await joypod(["session", "log", "gs-2"]);
    expect(missing.code).to.not.equal(0);
    expect(missing.stderr).to.match(/No output of the session gs-2 is stored/);
  });

  it("are never unpacked beyond their maximum size", async () => {
    await store("gs-bomb", gzipSync(Buffer.alloc(100 * 2 ** 20)));
    const outcome = await readRunOutput(api.deps.objectStore, "gs-bomb").catch(systemErrorCode);
    expect(outcome).to.equal("ERR_BUFFER_TOO_LARGE");
  });

  it("are removed after their retention", async () => {
    await store("gs-old", gzipSync("old"));
    const { deps } = api;
    const sweepIn = (days: number): Promise<void> =>
      sweepRunOutputs({ ...deps, clock: { now: () => new Date(Date.now() + days * dayMs) } });
    await sweepIn(limits.run.keptDays - 1);
    expect((await readRunOutput(deps.objectStore, "gs-old"))?.toString()).to.equal("old");
    await sweepIn(limits.run.keptDays + 1);
    expect(await readRunOutput(deps.objectStore, "gs-old")).to.be.undefined;
  });
});
