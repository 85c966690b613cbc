import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "chai";
import { Client } from "minio";
import {
  createStoreUsers,
  MinioAdmin,
  MinioRefused,
  type StoreKey,
} from "#api/installation/storeKeys/minioAdmin.ts";
import { repositoryRoot } from "#test/support/processes/programs.ts";
import { startMinio, type TestMinio } from "#test/support/stores/minio.ts";

const policyOf = (program: string, bucket: string): string =>
  readFileSync(join(repositoryRoot, `charts/joypod/files/store-policies/${program}.json`), "utf8").replaceAll(
    "BUCKET",
    bucket,
  );

describe("the object store's users, created like by the chart,", function () {
  this.timeout(60_000);
  let minio: TestMinio;
  let admin: MinioAdmin;
  const [api, agent] = [
    { accessKey: "joypod-api", secretKey: "secret of the API" },
    { accessKey: "joypod-node-agent", secretKey: "secret of the agent" },
  ];

  before(async () => {
    minio = await startMinio({ bucket: "joypod" });
    await minio.client.makeBucket("another");
    admin = new MinioAdmin(minio);
    await createUsers();
  });
  after(() => minio.remove());

  async function createUsers(keys: { api: StoreKey; agent: StoreKey } = { api, agent }): Promise<void> {
    await createStoreUsers(admin, [
      { program: "joypod-api", ...keys.api, policy: policyOf("api", minio.bucket) },
      { program: "joypod-node-agent", ...keys.agent, policy: policyOf("node-agent", minio.bucket) },
    ]);
  }

  function clientOf({ accessKey, secretKey }: StoreKey): Client {
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

  /** What programs ask, on the object of that key. */
  const requests = {
    probe: (client: Client) => client.bucketExists("joypod"),
    get: async (client: Client, key: string) => (await client.getObject("joypod", key)).destroy(),
    stat: (client: Client, key: string) => client.statObject("joypod", key),
    put: (client: Client, key: string) => client.putObject("joypod", key, "new"),
    remove: (client: Client, key: string) => client.removeObject("joypod", key),
    list: (client: Client, key: string) => client.listObjectsV2("joypod", key, true).toArray(),
    openUpload: (client: Client, key: string) => client.initiateNewMultipartUpload("joypod", key, {}),
    findUpload: (client: Client, key: string) => client.findUploadId("joypod", key),
    putElsewhere: (client: Client, key: string) => client.putObject("another", key, "new"),
    readElsewhere: (client: Client) => client.statObject("another", "theirs"),
    listElsewhere: (client: Client) => client.listObjectsV2("another", "", true).toArray(),
    makeBucket: (client: Client) => client.makeBucket("third"),
  } satisfies Record<string, (client: Client, key: string) => Promise<unknown>>;

  /** The requests that the object store carries out with that key; each finds its object there. */
  async function allowedOf(key: StoreKey, object: string): Promise<string[]> {
    const client = clientOf(key);
    const allowed: string[] = [];
    for (const [name, request] of Object.entries(requests)) {
      await minio.client.putObject("joypod", object, "old");
      await minio.client.putObject("another", "theirs", "old");
      const error: unknown = await request(client, object).then(
        () => undefined,
        (thrown: unknown) => thrown,
      );
      if (error === undefined) allowed.push(name);
      else expect(error, name).to.have.property("code").that.is.oneOf(["AccessDenied", "Forbidden"]);
    }
    return allowed;
  }

  it("let the agent read contents, read and write saves, and do nothing else", async () => {
    expect(await allowedOf(agent, "archives/game/upload.tar.gz")).to.deep.equal([
      "probe",
      "get",
      "stat",
      "list",
    ]);
    expect(await allowedOf(agent, "saves/slot/1-gs-a-1.1.tar.gz")).to.deep.equal([
      "probe",
      "get",
      "stat",
      "put",
      "list",
      "openUpload",
    ]);
    expect(await allowedOf(agent, "pictures/game/picture")).to.deep.equal(["probe", "list"]);
    expect(await allowedOf(agent, "elsewhere.txt")).to.deep.equal(["probe", "list"]);
  });

  it("let the API write and remove archives, pictures and saves, in its own bucket", async () => {
    const own = ["probe", "get", "stat", "put", "remove", "list", "openUpload", "findUpload"];
    expect(await allowedOf(api, "archives/game/upload.tar.gz")).to.deep.equal(own);
    expect(await allowedOf(api, "pictures/game/picture")).to.deep.equal(own);
    expect(await allowedOf(api, "saves/slot/1-gs-a-1.1.tar.gz")).to.deep.equal(own);
    expect(await allowedOf(api, "elsewhere.txt")).to.deep.equal(["probe", "list", "findUpload"]);
  });

  it("get a changed secret key, and lose the old one", async () => {
    const rotated = { ...agent, secretKey: "another secret of the agent" };
    await createUsers({ api, agent: rotated });
    expect(await allowedOf(rotated, "saves/slot/1-gs-a-1.1.tar.gz")).to.include("put");
    const error: unknown = await clientOf(agent)
      .getObject("joypod", "saves/slot/1-gs-a-1.1.tar.gz")
      .catch((thrown: unknown) => thrown);
    expect(error).to.have.property("code", "SignatureDoesNotMatch");
    await createUsers();
  });

  it("lose their former names, which are the same in every installation, once the programs have others", async () => {
    const renamed = {
      api: { accessKey: "5f1c0a9b7e6d4c3b2a19", secretKey: "a new secret of the API" },
      agent: { accessKey: "0b7a9c8d6e5f4a3b2c1d", secretKey: "a new secret of the agent" },
    };
    const save = "saves/slot/1-gs-a-1.1.tar.gz";
    await createUsers({ api: renamed.api, agent });
    expect(await allowedOf(agent, save), "a program that keeps its name").to.include("put");
    await createUsers(renamed);
    for (const key of [renamed.api, renamed.agent]) expect(await allowedOf(key, save)).to.include("put");
    for (const key of [api, agent]) {
      const error: unknown = await clientOf(key)
        .getObject("joypod", save)
        .catch((thrown: unknown) => thrown);
      expect(error).to.have.property("code", "InvalidAccessKeyId");
    }
    await createUsers();
  });

  it("cannot be created by others than the administrator, with MinIO's reason", async () => {
    const error: unknown = await createStoreUsers(new MinioAdmin({ ...minio, ...agent }), [
      { program: "joypod-api", ...api, policy: policyOf("api", "*") },
    ]).catch((thrown: unknown) => thrown);
    expect(error).to.be.instanceOf(MinioRefused).and.to.include({ status: 403 });
    expect((error as MinioRefused).message)
      .to.contain("AccessDenied")
      .and.not.contain(agent.secretKey);
  });
});
