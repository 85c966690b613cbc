import { once } from "node:events";
import { createServer } from "node:net";
import { join } from "node:path";
import { expect } from "chai";
import { Client } from "minio";
import { ticketPublicKeyOf, ticketSigningKey } from "#contracts/streamTicket.ts";
import { ReleaseFixture } from "#test/support/fixtures/releaseFixture.ts";
import { CertificateAuthority } from "#test/support/http/certificates.ts";
import { repositoryRoot } from "#test/support/processes/programs.ts";
import { startMinio, type TestMinio } from "#test/support/stores/minio.ts";

const chart = join(repositoryRoot, "charts/joypod");
const bundled = ["--values", join(chart, "ci/bundled-values.yaml")];
const external = ["--values", join(chart, "ci/external-values.yaml")];
const agentSecret = "joypod-node-agent-store";
/** Linux starts no program with one of more bytes. */
const longestVariable = 128 * 1024;
const store = { endpoint: "https://s3.example.com", region: "eu-1", bucket: "games" };

describe("the keys of the object store", function () {
  this.timeout(120_000);
  let minio: TestMinio;

  before(async () => {
    minio = await startMinio({ bucket: "joypod" });
  });
  after(() => minio.remove());

  /** Where the chart's MinIO would be, and its administrator. */
  const reachMinio = (): Record<string, string> => ({
    NODE_AGENT_S3_ENDPOINT: minio.endpoint,
    MINIO_ROOT_USER: minio.accessKey,
    MINIO_ROOT_PASSWORD: minio.secretKey,
  });

  function clientOf({ accessKey = "", secretKey = "" }: Record<string, string>): Client {
    const { hostname, port } = new URL(minio.endpoint);
    return new Client({
      endPoint: hostname,
      port: Number(port),
      useSSL: false,
      region: minio.region,
      accessKey,
      secretKey,
    });
  }

  it("are set in the bundled MinIO, even while it starts, and changed keys with the next upgrade", async () => {
    const release = await ReleaseFixture.in("stores", bundled);
    await release.runJob("make-secrets");
    await minio.stop();
    const unready = createServer((socket) => socket.destroy()).listen(
      Number(new URL(minio.endpoint).port),
      "127.0.0.1",
    );
    const given = release.runJob("store-keys", reachMinio());
    await Promise.race([once(unready, "connection"), given]);
    unready.close();
    await once(unready, "close");
    await minio.start();
    await given;
    const [api, agent] = [await release.valuesOf("joypod-api-store"), await release.agentKey()];
    const { publicKey, signingKey } = await release.valuesOf("joypod-connection-test");
    expect(
      await release.valuesOf("joypod-connection-test-key", `${release.namespace}-nodes`),
      "without the private half",
    ).to.deep.equal({ publicKey });
    expect(ticketPublicKeyOf(ticketSigningKey(Buffer.from(signingKey ?? "", "base64")))).to.equal(publicKey);
    const key = "archives/game/upload.tar.gz";
    await clientOf(api).putObject("joypod", key, "archive");
    expect((await clientOf(agent).statObject("joypod", key)).size).to.equal(7);
    expect(
      await clientOf(agent)
        .removeObject("joypod", key)
        .then(
          () => "removed",
          () => "refused",
        ),
    ).to.equal("refused");

    await release.setSecret(agentSecret, { secretKey: "changed by an admin" });
    await release.runJob("store-keys", reachMinio());
    expect((await clientOf(await release.agentKey()).statObject("joypod", key)).size).to.equal(7);
    expect(
      await clientOf(agent)
        .statObject("joypod", key)
        .then(
          () => "read",
          () => "refused",
        ),
    ).to.equal("refused");
  });

  it("of an external store are the API's for agents too, until they get their own", async () => {
    const release = await ReleaseFixture.in("stores", external);
    await release.setSecret("joypod-s3", { ...store, accessKey: "shared", secretKey: "one" });
    await release.setSecret("joypod-connection-test-keys", { publicKey: "A".repeat(43) });
    await release.runJob("store-keys");
    expect(await release.agentKey()).to.deep.equal({ ...store, accessKey: "shared", secretKey: "one" });
    await release.setSecret("joypod-s3", { secretKey: "rotated" });
    await release.runJob("store-keys");
    expect(await release.agentKey()).to.include({ accessKey: "shared", secretKey: "rotated" });

    const own = release.with("--set", "s3.nodeAgent.existingSecret=agents-s3");
    await release.setSecret("agents-s3", { ...store, accessKey: "agents", secretKey: "two" });
    await own.runJob("store-keys");
    expect(await release.agentKey()).to.deep.equal({ ...store, accessKey: "agents", secretKey: "two" });
    const containers = await own.environments();
    expect(containers.get("api")).to.include({
      S3_ACCESS_KEY: "joypod-s3/accessKey",
      S3_SECRET_KEY: "joypod-s3/secretKey",
    });
    expect(containers.get("node-agent")).to.include({
      S3_ACCESS_KEY: `${agentSecret}/accessKey`,
      S3_SECRET_KEY: `${agentSecret}/secretKey`,
    });
  });

  it("are copied with an external store's CA certificate, and removed if a web identity replaces them", async () => {
    const release = await ReleaseFixture.in("stores", external);
    await release.setSecret("joypod-s3", { ...store, accessKey: "shared", secretKey: "one" });
    const bundle = (await CertificateAuthority.create()).bundle(longestVariable);
    await release.setSecret("s3-authority", { "ca.crt": bundle });
    await release.setSecret("joypod-connection-test-keys", { publicKey: "A".repeat(43) });
    await release.with("--set", "s3.caSecret=s3-authority").runJob("store-keys");
    expect(await release.agentKey()).to.deep.equal({
      ...store,
      accessKey: "shared",
      secretKey: "one",
      "ca.crt": bundle,
    });
    const identity = release.with(
      "--set",
      "s3.webIdentity.enabled=true,s3.webIdentity.roleArn=arn:aws:iam::1:role/api,s3.webIdentity.nodeAgent.roleArn=arn:aws:iam::1:role/agents",
    );
    await identity.runJob("store-keys");
    expect(await release.agentKey()).to.deep.equal(store);
    const containers = await identity.environments();
    for (const [program, role] of [
      ["api", "arn:aws:iam::1:role/api"],
      ["node-agent", "arn:aws:iam::1:role/agents"],
    ] as const) {
      expect(containers.get(program), program)
        .to.include({ AWS_ROLE_ARN: role, AWS_WEB_IDENTITY_TOKEN_FILE: "/var/run/secrets/joypod/s3/token" })
        .and.not.have.any.keys("S3_ACCESS_KEY", "S3_SECRET_KEY");
    }
  });

  it("are copied with the pull secrets to every namespace with our pods, unless someone else created them there", async () => {
    const release = (await ReleaseFixture.in("stores", external)).with(
      "--set",
      "imagePullSecrets[0].name=pull,imagePullSecrets[1].name=absent",
    );
    const [sessions, nodes] = [`${release.namespace}-sessions`, `${release.namespace}-nodes`];
    await release.setSecret("joypod-s3", { ...store, accessKey: "shared", secretKey: "one" });
    await release.setSecret("joypod-connection-test-keys", { publicKey: "A".repeat(43) });
    await release.setPullSecret("one.example.com");
    await release.setPullSecret("own.example.com", nodes);
    await release.runJob("store-keys");
    expect(await release.secret("pull", sessions)).to.deep.include({
      type: "kubernetes.io/dockerconfigjson",
      data: (await release.secret("pull")).data,
    });
    await release.setPullSecret("two.example.com");
    await release.runJob("store-keys");
    expect((await release.valuesOf("pull", sessions))[".dockerconfigjson"]).to.contain("two.example.com");
    expect((await release.valuesOf("pull", nodes))[".dockerconfigjson"]).to.contain("own.example.com");
    await release.replacePullSecret("three.example.com");
    await release.runJob("store-keys");
    const { type, data } = await release.secret("pull");
    expect(await release.secret("pull", sessions), "of another type").to.deep.include({ type, data });
    expect((await release.valuesOf("pull", nodes))[".dockerconfigjson"]).to.contain("own.example.com");
  });

  it("of the bundled MinIO's administrator are only for MinIO and that job", async () => {
    const environments = await (await ReleaseFixture.in("stores", bundled)).environments();
    const holding = [...environments]
      .filter(([, env]) => Object.values(env).some((value) => value.startsWith("joypod-s3/")))
      .map(([name]) => name);
    expect(holding).to.have.members(["minio", "store-keys"]);
    expect(environments.get("api")).to.include({ S3_ACCESS_KEY: "joypod-api-store/accessKey" });
    expect(environments.get("node-agent")).to.include({ S3_ACCESS_KEY: `${agentSecret}/accessKey` });
  });

  it("are distributed by a Job with a new name for each revision and change, because a Job is immutable", async () => {
    const release = await ReleaseFixture.in("stores", bundled);
    const nameOf = async (...options: string[]): Promise<string | undefined> =>
      /^ {2}name: (joypod-store-keys-[0-9a-f]{8})$/m.exec(await release.render(...options))?.[1];
    const [name, upgraded, changed] = [
      await nameOf(),
      await nameOf("--is-upgrade"),
      await nameOf("--set", "images.controlPlane=other"),
    ];
    expect(name).to.be.a("string");
    expect(upgraded, "a render alone knows no revisions").to.equal(name);
    expect(changed).to.not.equal(name);
    await release.upgrade();
    const jobs = await release.jobs();
    await release.upgrade();
    expect(await release.jobs())
      .to.have.length(1)
      .and.to.not.deep.equal(jobs);
  });
});
