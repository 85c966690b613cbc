import { expect } from "chai";
import { randomBytes } from "node:crypto";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import type { GameVersion } from "#contracts/http/gameVersions.ts";
import { runOutputKey } from "#contracts/objectKeys.ts";
import { aGameSessionRow, aUser } from "#test/factories/catalog.ts";
import { eventually } from "#test/support/clocks/eventually.ts";
import { startFaultProxy, type FaultProxy, type SeenRequest } from "#test/support/cluster/faultProxy.ts";
import { PublishClient, type PublishOutcome } from "#test/support/fixtures/publishClient.ts";
import { UploadFixture } from "#test/support/fixtures/uploadFixture.ts";

describe("npx joypod-publish", function () {
  this.timeout(120_000);
  let fixture: UploadFixture;
  let client: PublishClient;
  let proxy: FaultProxy;
  let games = 0;
  let slug: string;

  before(async () => {
    fixture = await UploadFixture.start({ PARTNER_UPLOADS_PER_HOUR: "1000", GAME_VERIFY: "off" });
    proxy = await startFaultProxy(fixture.api.url);
    client = await PublishClient.install();
  });
  beforeEach(async () => {
    await fixture.newGame();
    proxy.fault = undefined;
    slug = `published-${(games += 1)}`;
    Object.assign(client.env, { JOYPOD_URL: proxy.endpoint, JOYPOD_API_KEY: fixture.partner.key });
    client.write("joypod.json", "{}");
    writeGame();
  });
  after(async () => {
    client.remove();
    await proxy.close();
    await fixture.stop();
  });

  function writeGame(data: string | Buffer = randomBytes(2000)): void {
    client.write("game/run.sh", "#!/bin/sh\nexec sleep 600\n");
    client.write("game/engine/data.bin", data);
  }

  async function publish(...args: string[]): Promise<PublishOutcome> {
    const registration = ["--title", "A Game", "--developer", "A Studio", "--no-wait"];
    return client.run("game", "--game", slug, ...registration, ...args);
  }

  async function published(...args: string[]): Promise<{ versionId: string; isCurrent: boolean }> {
    const { code, stdout, stderr } = await publish("--json", ...args);
    expect(code, stdout + stderr).to.equal(0);
    return JSON.parse(stdout) as { versionId: string; isCurrent: boolean };
  }

  /** Runs the client until it waits to try again, and kills it. */
  async function killAtRetry(...args: string[]): Promise<void> {
    const { child, ended } = client.start(args);
    let output = "";
    child.stderr.on("data", (chunk: Buffer) => (output += chunk.toString()));
    await eventually(() => Promise.resolve(output.includes("Trying again")), { what: "a retry" });
    process.kill(-(child.pid ?? 0), "SIGKILL");
    await ended;
  }

  const stateFiles = (): string[] => readdirSync(join(client.folder, "state/joypod-publish"));

  async function versions(): Promise<GameVersion[]> {
    const { code, stdout, stderr } = await client.run("versions", "--game", slug, "--json");
    expect(code, stderr).to.equal(0);
    return JSON.parse(stdout) as GameVersion[];
  }

  it("registers a game, publishes it, and waits until the game servers hold it", async () => {
    client.write(
      "joypod.json",
      JSON.stringify({ slug, title: "A Game", developer: "A Studio", tags: ["new"] }),
    );
    const { child, ended } = client.start(["game", "--label", "1.0"]);
    const cache = await eventually(() => fixture.operator.cache(slug), { what: "the game's cache" });
    const node = { state: "Cached" as const, digest: cache.spec.source.sha256 };
    const [name = ""] = fixture.api.deps.cluster.gameNodes.cache.list().map(({ metadata }) => metadata.name);
    await fixture.operator.reportCache(slug, {
      nodes: [{ nodeName: name, ...node, cachedAt: new Date().toISOString() }],
    });
    const { code, stdout, stderr } = await ended;
    expect(code, stdout + stderr).to.equal(0);
    expect(child.exitCode).to.equal(0);
    expect(stderr)
      .to.include("Registered")
      .and.include("Uploading: 100 %")
      .and.not.include(fixture.partner.key);
    expect(stdout).to.include("Game servers that hold it: 1 of 1.").and.include(`/games/${slug}`);
    const game = await fixture.client.get(`/api/partners/games/${slug}`);
    expect(game.json()).to.deep.include({
      status: "active",
      tags: ["new"],
      launcher: "run.sh",
      engineDir: "engine",
    });
  });

  it("lists versions and goes back to one", async () => {
    const first = await published("--label", "1.0");
    writeGame();
    const second = await published("--channel", "beta");
    expect([first.isCurrent, second.isCurrent]).to.deep.equal([true, false]);
    writeGame();
    const third = await published("--label", "1.1", "--notes", "More levels");
    const listed = await versions();
    expect(listed.map(({ id, label, channels }) => [id, label, channels])).to.deep.equal([
      [third.versionId, "1.1", []],
      [second.versionId, null, ["beta"]],
      [first.versionId, "1.0", []],
    ]);
    const back = await client.run("activate", "1.0", "--game", slug);
    expect(back.code, back.stderr).to.equal(0);
    expect((await versions()).find(({ isCurrent }) => isCurrent)?.id).to.equal(first.versionId);
    const channels = await client.run("channels", "--game", slug);
    expect(channels.stdout).to.match(new RegExp(`default +${first.versionId}\nbeta +${second.versionId}`));
    const unknown = await client.run("activate", "2.0", "--game", slug);
    expect(unknown.code).to.equal(1);
    expect(unknown.stderr).to.include("no version 2.0");
  });

  /** Publishes a version that gets a bad verdict. */
  async function publishBad(...args: string[]): Promise<PublishOutcome> {
    const registration = { slug, title: "A Game", developer: "A Studio", verify: "require" };
    client.write("joypod.json", JSON.stringify(registration));
    const { ended } = client.start(["game", ...args]);
    const finding = {
      code: "library_missing",
      severity: "error",
      message: "A library is missing.",
      details: ["libfoo.so.1"],
      help: "docs/games.md#libraries",
    };
    const report = {
      playedSeconds: 1,
      firstWindowSeconds: null,
      firstPictureSeconds: null,
      framesPerSecond: null,
      hasSound: false,
      hasOpenedGamepad: false,
      exit: null,
      peakMemoryMb: null,
      save: null,
      refusals: [],
      pictures: [],
      log: "",
    };
    const text = `UPDATE game_verifications SET state = 'bad', report = $2, finished_at = now()
      WHERE game_id = (SELECT id FROM games WHERE slug = $1)`;
    const values = [slug, JSON.stringify({ findings: [finding], report })];
    await eventually(async () => (await fixture.api.deps.postgres.pool.query(text, values)).rowCount === 1, {
      what: "a verification",
    });
    return ended;
  }

  it("prints the verdict that players wait for, and fails if it is bad", async () => {
    const { code, stdout, stderr } = await publishBad();
    expect(code, stdout + stderr).to.equal(1);
    expect(stdout).to.include("The verdict is bad.").and.include("[libfoo.so.1] See docs/games.md#libraries");
    expect(stdout).to.include("Nobody gets it yet").and.include("activate");
  });

  it("prints a failure with the result as one JSON document", async () => {
    const { code, stdout, stderr } = await publishBad("--json");
    expect(code, stdout + stderr).to.equal(1);
    const document = JSON.parse(stdout) as { versionId: string; verification: object };
    expect(document).to.include({ slug, isCurrent: false, error: "bad_verdict" }).and.include.keys("message");
    expect(document.verification).to.include({ verdict: "bad" });
    expect((await versions()).map(({ id }) => id)).to.deep.equal([document.versionId]);
  });

  it("lists the sessions of a game, and prints the end of one's output", async () => {
    await published("--label", "1.0");
    const { deps, minio } = fixture.api;
    const { id: gameId, currentVersionId: versionId } = await deps.postgres.prisma.game.findUniqueOrThrow({
      where: { slug },
    });
    const [user, game] = [await aUser(deps), { id: gameId, versionId }];
    const over = { slotId: null, status: "stopped", endedAt: new Date(), durationSeconds: 60 } as const;
    const { id: left } = await aGameSessionRow(
      deps,
      { user, game },
      { ...over, stopReason: "UserRequested" },
    );
    const { id: crashed } = await aGameSessionRow(
      deps,
      { user, game },
      {
        ...over,
        stopReason: "Failed",
        failureReason: "GameCrashed",
        failureMessage: "It exited with code 3.",
      },
    );
    const all = await client.run("runs", "--game", slug);
    expect(all.code, all.stderr).to.equal(0);
    expect(all.stdout)
      .to.match(new RegExp(`^${left} +\\S.* 1[.]0 .* user_requested$`, "m"))
      .and.match(new RegExp(`^${crashed} .* It exited with code 3[.]$`, "m"));
    const failed = await client.run("runs", "--crashed", "--game", slug, "--json");
    expect(JSON.parse(failed.stdout)).to.have.length(1);
    await minio?.client.putObject(minio.bucket, runOutputKey(crashed), gzipSync("libfoo.so: not found\n"));
    const log = await client.run("log", crashed, "--game", slug);
    expect(log.stdout).to.equal("libfoo.so: not found\n");
    expect((await client.run("log", left, "--game", slug)).stderr).to.include("No output of this run");
  });

  it("uploads the same folder as the same version", async () => {
    const first = await published();
    writeGame(randomBytes(10));
    await published();
    const [{ checksum }] = (await versions()) as [GameVersion];
    const dryRun = await client.run("game", "--dry-run", "--json");
    expect(JSON.parse(dryRun.stdout)).to.include({ checksum });
    expect(await versions()).to.have.length(2);
    expect((await published()).versionId).not.to.equal(first.versionId);
    expect(await versions()).to.have.length(2);
  });

  it("continues a broken upload where it stopped, also after it was killed", async () => {
    await published();
    writeGame(randomBytes(3 * 2 ** 20));
    const chunks = (): number => proxy.requests.filter(({ method }) => method === "PATCH").length;
    const before = chunks();
    proxy.fault = ({ method }) => (method === "PATCH" && chunks() > before + 2 ? { isCut: true } : undefined);
    await killAtRetry("game", "--game", slug, "--no-wait", "--chunk-mib", "1");
    proxy.fault = undefined;
    const atKill = chunks();
    const { code, stderr } = await publish("--chunk-mib", "1");
    expect(code, stderr).to.equal(0);
    expect(stderr).to.include("unchanged since the interrupted upload").and.not.include("Packing");
    // Four chunks have all bytes; the first two had arrived.
    expect(chunks() - atKill).to.equal(2);
    expect(await versions()).to.have.length(2);
    expect(stateFiles()).to.deep.equal([]);
  });

  it("forgets an interrupted upload when the files change", async () => {
    await published();
    writeGame(randomBytes(3 * 2 ** 20));
    proxy.fault = ({ method }) => (method === "PATCH" ? { isCut: true } : undefined);
    await killAtRetry("game", "--game", slug, "--no-wait");
    proxy.fault = undefined;
    writeGame();
    const { code, stderr } = await publish();
    expect(code, stderr).to.equal(0);
    expect(proxy.requests.filter(({ method }) => method === "DELETE")).to.have.length(1);
    expect(await versions()).to.have.length(2);
    expect(stateFiles()).to.deep.equal([]);
  });

  it("ends an interrupted upload on the server when its label changes", async () => {
    const ended = (): number => proxy.requests.filter(({ method }) => method === "DELETE").length;
    await published();
    const before = ended();
    writeGame(randomBytes(3 * 2 ** 20));
    proxy.fault = ({ method }) => (method === "PATCH" ? { isCut: true } : undefined);
    await killAtRetry("game", "--game", slug, "--no-wait", "--label", "1.0");
    proxy.fault = undefined;
    const { code, stderr } = await publish("--label", "1.1");
    expect(code, stderr).to.equal(0);
    expect(stderr).to.not.include("Packing");
    expect(ended() - before).to.equal(1);
    expect((await versions()).map(({ label }) => label)).to.deep.equal(["1.1", null]);
  });

  it("retries an upload in one request to an older server, and does not pack again after it was killed", async () => {
    const olderServer = ({ method, path }: SeenRequest) =>
      method === "POST" && path.endsWith("/uploads") ? { status: 404 } : undefined;
    proxy.fault = olderServer;
    await published();
    writeGame(randomBytes(3 * 2 ** 20));
    proxy.fault = (request) => (request.method === "PUT" ? { isCut: true } : olderServer(request));
    await killAtRetry("game", "--game", slug, "--no-wait");
    proxy.fault = olderServer;
    const { code, stderr } = await publish();
    expect(code, stderr).to.equal(0);
    expect(stderr).to.include("unchanged since the interrupted upload").and.not.include("Packing");
    expect(await versions()).to.have.length(2);
    expect(stateFiles()).to.deep.equal([]);
  });

  it("refuses before the upload what the server would refuse", async () => {
    client.write("broken/engine/data.bin", "data");
    client.write("broken/engine/DATA.bin", "differs by case");
    const args = ["broken", "--game", slug, "--launcher", "start.sh", "--title", "A", "--developer", "A"];
    const { code, stdout, stderr } = await client.run(...args, "--json");
    expect(code).to.equal(1);
    expect(stderr).to.include('"start.sh"').and.include("differs only by case");
    expect(JSON.parse(stdout)).to.include({ error: "invalid_archive" });
    expect((await fixture.client.get(`/api/partners/games/${slug}`)).status).to.equal(404);
  });

  it("says what is missing, and never shows the key", async () => {
    const unregistered = await client.run("game", "--game", slug);
    expect(unregistered.code).to.equal(2);
    expect(unregistered.stderr).to.include("--title");
    const key = "jp_0123456789_wrong";
    Object.assign(client.env, { JOYPOD_API_KEY: key });
    const refused = await client.run("versions", "--game", slug);
    expect(refused.code).to.equal(1);
    expect(refused.stderr).to.include("JOYPOD_API_KEY").and.not.include(key);
    delete client.env["JOYPOD_API_KEY"];
    const missing = await client.run("versions", "--game", slug);
    expect(missing.code).to.equal(2);
    expect(missing.stderr).to.include("JOYPOD_API_KEY");
    const usage = await client.run("game", "--frobnicate");
    expect(usage.code).to.equal(2);
  });
});
