import { expect } from "chai";
import { createHash } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { SaveObjectStore } from "#api/saves/saveObjectStore.ts";
import { connectObjectStore, requireBucket } from "#api/stores/objectStore.ts";
import { createObjectStore } from "#node-agent/objectStore/objectStore.ts";
import { readConfig as readAgentConfig } from "#node-agent/config.ts";
import { objectStoreSentence } from "#s3/objectStoreFailure.ts";
import { startFaultProxy, type FaultProxy } from "#test/support/cluster/faultProxy.ts";
import { eventually } from "#test/support/clocks/eventually.ts";
import { TokenIssuer } from "#test/support/oidc/tokenIssuer.ts";
import { TestApi } from "#test/support/http/api.ts";
import { startMinio, type TestMinio } from "#test/support/stores/minio.ts";

const audience = "joypod-store";

/** MinIO's own token service, which trusts the issuer as AWS trusts a cluster. */
describe("the object store with web identity", function () {
  this.timeout(60_000);
  let issuer: TokenIssuer;
  let minio: TestMinio;
  /** In front of MinIO as token service. */
  let tokenService: FaultProxy;
  let folder: string;
  let tokenFile: string;

  before(async () => {
    issuer = await TokenIssuer.start();
    minio = await startMinio({
      env: {
        MINIO_IDENTITY_OPENID_CONFIG_URL: `${issuer.url}/.well-known/openid-configuration`,
        MINIO_IDENTITY_OPENID_CLIENT_ID: audience,
        MINIO_IDENTITY_OPENID_CLAIM_NAME: "policy",
      },
    });
  });
  after(async () => {
    await minio.remove();
    await issuer.stop();
  });
  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), "joypod-token-"));
    tokenFile = join(folder, "token");
    tokenService = await startFaultProxy(minio.endpoint);
  });
  afterEach(async () => {
    await tokenService.close();
    rmSync(folder, { recursive: true, force: true });
  });

  async function giveToken({
    from = issuer,
    ...claims
  }: { from?: TokenIssuer; audience?: string; lifeSeconds?: number } = {}): Promise<void> {
    writeFileSync(
      tokenFile,
      `${await from.token({ audience, claims: { policy: "readwrite" }, ...claims })}\n`,
    );
  }

  const environment = (): Record<string, string> => ({
    S3_ENDPOINT: minio.endpoint,
    S3_REGION: minio.region,
    S3_BUCKET: minio.bucket,
    S3_ACCESS_KEY: "",
    S3_SECRET_KEY: "",
    AWS_WEB_IDENTITY_TOKEN_FILE: tokenFile,
    AWS_ENDPOINT_URL_STS: tokenService.endpoint,
  });

  const agentStore = () => {
    const { objectStore } = readAgentConfig({ ...environment(), NODE_NAME: "node-a" });
    return createObjectStore(objectStore);
  };
  const apiStore = () => {
    const { objectStore } = readAgentConfig({ ...environment(), NODE_NAME: "node-a" });
    return connectObjectStore({ ...objectStore, timeoutMs: 5_000 });
  };

  it("accepts writes and reads of API and agents, which exchange their token once each", async () => {
    await giveToken();
    const signal = AbortSignal.timeout(20_000);
    const api = await TestApi.start({ env: environment() });
    const agent = agentStore();
    try {
      expect((await api.anonymous().get("/readyz")).json()).to.deep.equal({ status: "ok" });
      const { client, bucket } = api.deps.objectStore;
      await client.putObject(bucket, "archives/a", "of the API");
      const { body } = await agent.open({ bucket, key: "archives/a" }, { offset: 0 }, signal);
      expect(await text(body)).to.equal("of the API");
      const save = Buffer.from("of the agent");
      await agent.put(
        { bucket, key: "saves/b/c" },
        {
          sizeBytes: save.length,
          md5: createHash("md5").update(save).digest("base64"),
          read: () => Readable.from([save]),
        },
        signal,
      );
      const saves = new SaveObjectStore(api.deps.objectStore);
      expect((await saves.list("b")).map(({ key }) => key)).to.deep.equal(["saves/b/c"]);
      expect(await saves.inspect("saves/b/c", 100)).to.include({ bytes: save.length });
      expect(tokenService.requests).to.deep.equal([
        { method: "POST", path: "/", range: undefined },
        { method: "POST", path: "/", range: undefined },
      ]);
      expect(api.logLines.join("\n")).to.not.contain("eyJ");
    } finally {
      agent.close();
      await api.stop();
    }
  });

  it("keeps working when keys expire, with the current token file, even if the token service was unavailable in between", async () => {
    const lifeSeconds = 20;
    await giveToken({ lifeSeconds });
    const endMs = Date.now() + lifeSeconds * 1000;
    const store = apiStore();
    const agent = agentStore();
    const failures: unknown[] = [];
    const ask = async (): Promise<void> => {
      const asked = await Promise.allSettled([
        requireBucket(store),
        agent.probe(minio.bucket, AbortSignal.timeout(5_000)),
      ]);
      for (const outcome of asked) if (outcome.status === "rejected") failures.push(outcome.reason);
    };
    try {
      await ask();
      await giveToken();
      // Both ask for new ones a quarter of their life before its end, while the token service is unavailable.
      tokenService.fault = () => ({ isCut: true });
      const before = tokenService.requests.length;
      await eventually(
        async () => {
          await ask();
          return tokenService.requests.length >= before + 2;
        },
        { what: "new keys to be asked for", timeoutMs: 30_000 },
      );
      expect(Date.now(), "before the end of the keys").to.be.below(endMs);
      tokenService.fault = undefined;
      await eventually(
        async () => {
          await ask();
          return Date.now() > endMs + 1_000;
        },
        { what: "the end of the first keys", timeoutMs: 15_000 },
      );
      expect(failures).to.deep.equal([]);
    } finally {
      agent.close();
    }
  });

  for (const [title, give, sentence] of [
    [
      "a file that is not there",
      () => Promise.resolve(),
      /^The token file in AWS_WEB_IDENTITY_TOKEN_FILE cannot be read/,
    ],
    [
      "a token for others",
      () => giveToken({ audience: "others" }),
      /^The token service rejects the web identity's token \(\w+\)\. Compare its issuer, audience and subject/,
    ],
    [
      "a token that has ended",
      () => giveToken({ lifeSeconds: -60 }),
      /^The token service rejects the web identity's token/,
    ],
    [
      "a token of another issuer",
      async () => {
        const stranger = await TokenIssuer.start();
        await giveToken({ from: stranger });
        await stranger.stop();
      },
      /^The token service rejects the web identity's token/,
    ],
    [
      "a token service that is unavailable",
      async () => {
        await giveToken();
        tokenService.fault = () => ({ isCut: true });
      },
      /^The token service of the web identity does not respond/,
    ],
  ] as const) {
    it(`is rejected with ${title} by API and agent, with a specific message`, async () => {
      await give();
      const agent = agentStore();
      const errors = await Promise.all(
        [requireBucket(apiStore()), agent.probe(minio.bucket, AbortSignal.timeout(5_000))].map((asked) =>
          asked.then(
            () => "reached",
            (error: unknown) => error,
          ),
        ),
      );
      agent.close();
      for (const error of errors) {
        expect(objectStoreSentence(error)).to.match(sentence);
        expect(String(error)).to.not.contain("eyJ");
      }
    });
  }
});
