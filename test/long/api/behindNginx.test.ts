import {
  createReadStream,
  createWriteStream,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { spawn } from "node:child_process";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { createGzip } from "node:zlib";
import { expect } from "chai";
import { Agent, request, type Dispatcher } from "undici";
import { gameSessionEvents } from "#contracts/http/gameSessions.ts";
import { aGame, aPartner, aUser, type TestUser } from "#test/factories/catalog.ts";
import { eventually } from "#test/support/clocks/eventually.ts";
import { operatorOf, type FakeOperator } from "#test/support/cluster/fakeOperator.ts";
import { archivedGame } from "#test/support/fixtures/archives.ts";
import { guideBlocks } from "#test/support/fixtures/guides.ts";
import { TestApi } from "#test/support/http/api.ts";
import { CertificateAuthority } from "#test/support/http/certificates.ts";
import { certificateLines, Nginx, withReplaced } from "#test/support/http/nginx.ts";
import { freePort } from "#test/support/processes/childProgram.ts";
import { FakeStreamer } from "#test/support/session/fakeStreamer.ts";
import { loopbackIp } from "#test/support/processes/loopbackIp.ts";

const podIp = loopbackIp();
/** Sixteen times what nginx lets through unless told otherwise. */
const uploadBytes = 16 * 2 ** 20;

describe("behind Debian's nginx, configured as in the install guide,", function () {
  this.timeout(180_000);
  const directory = mkdtempSync(join(tmpdir(), "joypod-behind-nginx-"));
  const agents: Agent[] = [];
  let api: TestApi;
  let operator: FakeOperator;
  let nginx: Nginx;
  let url: string;
  let ca: string;

  before(async () => {
    const port = await freePort();
    url = `https://127.0.0.1:${port}`;
    api = await TestApi.start({
      kube: true,
      minio: true,
      env: { BASE_URL: url, TRUSTED_PROXIES: "1", EVENT_HEARTBEAT_SECONDS: "1" },
    });
    operator = operatorOf(api);
    await operator.addNode(100);
    await eventually(() => api.deps.cluster.gameNodes.cache.size > 0);
    const authority = await CertificateAuthority.create();
    ca = readFileSync(authority.certificateFile, "utf8");
    nginx = await Nginx.start(
      withReplaced(guideBlocks("install").find(({ language }) => language === "nginx")?.text ?? "", [
        [
          / {2}server 192\.0\.2\.10:30080;\n {2}server 192\.0\.2\.11:30080;/,
          `server ${new URL(api.url).host};`,
        ],
        [/listen 443 ssl;/, `listen ${port} ssl;`],
        [
          /ssl_certificate .*\n\s*ssl_certificate_key .*;/,
          certificateLines(await authority.server("localhost", ["IP:127.0.0.1"])),
        ],
      ]),
      port,
    );
  });
  after(async () => {
    await Promise.all(agents.map((agent) => agent.close()));
    await nginx.stop();
    await operator.removeNodes();
    await api.stop();
    rmSync(directory, { recursive: true });
  });

  /** Connections of a client with this address. */
  function from(localAddress: string): Agent {
    const agent = new Agent({ localAddress, connect: { ca } });
    agents.push(agent);
    return agent;
  }

  async function ask(
    path: string,
    options: Omit<Dispatcher.RequestOptions, "origin" | "path"> & { dispatcher: Dispatcher },
  ) {
    const { statusCode, headers, body } = await request(url + path, options);
    return { status: statusCode, headers, text: await body.text() };
  }

  async function cookieOf(user: TestUser): Promise<string> {
    const client = api.as(user);
    await client.get("/api/auth/session"); // Fills the cookie jar.
    return [...client.cookies].map(([name, value]) => `${name}=${value}`).join("; ");
  }

  async function launched(user: TestUser): Promise<string> {
    const game = await aGame(api.deps);
    return (await api.as(user).post("/api/game/launch", { gameSlug: game.slug })).json<{
      sessionId: string;
    }>().sessionId;
  }

  it("two clients are counted separately, whatever headers they send", async () => {
    const [one, other] = [from("127.0.0.2"), from("127.0.0.3")];
    const statuses = [];
    for (let index = 0; index < 125; index++) {
      statuses.push(
        (
          await ask("/api/auth/providers", {
            method: "GET",
            dispatcher: one,
            headers: { "x-forwarded-for": `10.0.0.${index}` },
          })
        ).status,
      );
    }
    expect([
      statuses.filter((status) => status === 200).length,
      statuses.filter((status) => status === 429).length,
    ]).to.deep.equal([120, 5]);
    expect((await ask("/api/auth/providers", { method: "GET", dispatcher: other })).status).to.equal(200);
  });

  it("an archive of 200 MB passes", async () => {
    const partner = await aPartner(api.deps);
    const game = await aGame(api.deps, { partnerId: partner.id, status: "pending_upload", ...archivedGame });
    const archive = await aLargeArchive(directory);
    const { status, text } = await ask(`/api/partners/games/${game.slug}/upload`, {
      method: "PUT",
      dispatcher: from("127.0.0.4"),
      body: createReadStream(archive),
      headers: {
        authorization: `Bearer ${partner.key}`,
        "content-type": "application/gzip",
        "content-length": String(statSync(archive).size),
      },
    });
    expect(status, text).to.equal(200);
    expect(JSON.parse(text)).to.include({ status: "ok", size: statSync(archive).size });
  });

  it("the events of a session arrive immediately", async () => {
    const user = await aUser(api.deps);
    const id = await launched(user);
    const { statusCode, body } = await request(`${url}/api/game/events?sessionId=${id}`, {
      dispatcher: from("127.0.0.5"),
      headers: { cookie: await cookieOf(user), accept: "text/event-stream" },
    });
    expect(statusCode).to.equal(200);
    let text = "";
    body.on("data", (chunk: Buffer) => {
      text += chunk.toString();
    });
    await eventually(() => text.includes("event: "), { what: "the first event, while the stream goes on" });
    expect(text).to.not.contain(`event: ${gameSessionEvents.running}\n`);
    await operator.makeReady(id, { podIp });
    await eventually(() => text.includes(`event: ${gameSessionEvents.running}\n`), {
      what: "the event that the session runs",
    });
    body.on("error", () => undefined).destroy(); // Which it tells as an error.
  });

  it("a WHEP player connects and disconnects", async () => {
    const streamer = await FakeStreamer.at(podIp);
    try {
      const user = await aUser(api.deps);
      const id = await launched(user);
      await operator.makeReady(id, { podIp });
      const dispatcher = from("127.0.0.6");
      const cookie = await cookieOf(user);
      const connected = await ask(`/api/stream/${id}`, {
        method: "POST",
        dispatcher,
        body: "v=0 offer",
        headers: { cookie, "content-type": "application/sdp" },
      });
      expect([connected.status, connected.text], connected.text).to.deep.equal([201, "v=0 answer"]);
      expect(connected.headers["location"]).to.equal(`${url}/api/stream/${id}/connection-1`);
      streamer.response = { status: 200, headers: {}, body: "" };
      expect(
        (await ask(`/api/stream/${id}/connection-1`, { method: "DELETE", dispatcher, headers: { cookie } }))
          .status,
      ).to.equal(200);
      expect(streamer.seen.map(({ method }) => method)).to.deep.equal(["POST", "DELETE"]);
    } finally {
      streamer.stop();
    }
  });
});

/** Writes an archive of a game with so much that does not compress; returns its path. */
async function aLargeArchive(directory: string): Promise<string> {
  const game = join(directory, "game");
  mkdirSync(join(game, archivedGame.engineDir), { recursive: true });
  writeFileSync(join(game, archivedGame.launcher), "#!/bin/sh\n", { mode: 0o755 });
  await pipeline(
    createReadStream("/dev/urandom", { end: uploadBytes - 1 }),
    createWriteStream(join(game, archivedGame.engineDir, "data.bin")),
  );
  const archive = join(directory, "game.tar.gz");
  const tar = spawn("tar", ["-C", game, "-c", archivedGame.launcher, archivedGame.engineDir], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  await pipeline(tar.stdout, createGzip({ level: 0 }), createWriteStream(archive));
  return archive;
}
