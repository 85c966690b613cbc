import { cp, mkdtemp, rm, writeFile } from "node:fs/promises";
import { randomBytes } from "node:crypto";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "chai";
import { aUser } from "#test/factories/catalog.ts";
import { ReleaseFixture } from "#test/support/fixtures/releaseFixture.ts";
import { TestApi } from "#test/support/http/api.ts";
import { postSignIn } from "#test/support/http/authForms.ts";
import { repositoryRoot } from "#test/support/processes/programs.ts";

const chart = join(repositoryRoot, "charts/joypod");
const bundled = ["--values", join(chart, "ci/bundled-values.yaml")];
const external = [
  "--values",
  join(chart, "ci/external-values.yaml"),
  "--set",
  "api.existingSecret=,operator.existingSecret=,connectionTest.existingSecret=",
];
const made = [
  "api",
  "operator",
  "connection-test",
  "postgres",
  "redis",
  "s3",
  "api-store",
  "node-agent-store",
].map((name) => `joypod-${name}`);

/** The chart with secrets of its own, as its earlier version rendered them. */
async function formerChart(secrets: Record<string, Record<string, string>>): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "joypod-chart-"));
  await cp(chart, folder, { recursive: true });
  const manifests = Object.entries(secrets).map(([name, stringData]) =>
    JSON.stringify({
      apiVersion: "v1",
      kind: "Secret",
      metadata: { name, annotations: { "helm.sh/resource-policy": "keep" } },
      stringData,
    }),
  );
  await writeFile(join(folder, "templates/former-secrets.yaml"), manifests.join("\n---\n"));
  return folder;
}

describe("the release's secrets", function () {
  this.timeout(120_000);

  it("do not change when a release that rendered them is upgraded, and its players still sign in", async () => {
    const release = await ReleaseFixture.in("upgraded", bundled);
    const former: Record<string, Record<string, string>> = {
      "joypod-api": {
        signingKeys: `first:${randomBytes(48).toString("base64")}`,
        passwordPepper: randomBytes(48).toString("base64"),
      },
      "joypod-postgres": { password: "p1", url: "postgresql://joypod:p1@joypod-postgres/joypod" },
      "joypod-redis": { password: "p2", url: "redis://:p2@joypod-redis/0" },
      "joypod-s3": {
        endpoint: "http://joypod-minio:9000",
        region: "us-east-1",
        bucket: "joypod",
        accessKey: "joypod",
        secretKey: "p3",
      },
      "joypod-api-store": {
        endpoint: "http://joypod-minio:9000",
        region: "us-east-1",
        bucket: "joypod",
        accessKey: "joypod-api",
        secretKey: "p4",
      },
    };
    const folder = await formerChart(former);
    await release.upgrade(folder);
    const environment = async (): Promise<Record<string, string>> => {
      const { signingKeys = "", passwordPepper = "" } = await release.valuesOf("joypod-api");
      return { SIGNING_KEYS: signingKeys, PASSWORD_PEPPER: passwordPepper };
    };
    const before = await TestApi.start({ env: await environment() });
    const player = await aUser(before.deps);

    await release.runJob("make-secrets");
    await release.upgrade();
    const after = await TestApi.start({ database: before.database, env: await environment() });

    for (const [name, values] of Object.entries(former))
      expect(await release.valuesOf(name), name).to.deep.equal(values);
    expect(await release.names()).to.have.members(made);
    const browser = before.anonymous(after);
    const response = await postSignIn(browser, player);
    expect(response.status, response.text).to.equal(200);
    expect((await browser.get("/api/auth/session")).json()).to.have.nested.property(
      "user.email",
      player.email,
    );
    expect(
      (await before.as(player, after).get("/api/auth/session")).json(),
      "a cookie from before",
    ).to.have.nested.property("user.email", player.email);
    await after.stop();
    await before.stop();
    await rm(folder, { recursive: true });
  });

  it("are created once if missing, and differ between releases", async () => {
    const [one, other] = [
      await ReleaseFixture.in("fresh", bundled),
      await ReleaseFixture.in("fresh", bundled),
    ];
    for (const release of [one, other]) await release.runJob("make-secrets");
    expect(await one.names()).to.have.members(made);
    for (const [name, key] of [
      ["api", "passwordPepper"],
      ["api", "signingKeys"],
      ["postgres", "password"],
      ["redis", "url"],
      ["s3", "secretKey"],
      ["node-agent-store", "secretKey"],
      ["connection-test", "signingKey"],
      ["connection-test", "publicKey"],
    ]) {
      const [value, others] = [
        (await one.valuesOf(`joypod-${name}`))[key!],
        (await other.valuesOf(`joypod-${name}`))[key!],
      ];
      expect(value, `${name} ${key}`).to.be.a("string").that.has.length.above(30);
      expect(value, `${name} ${key}`).to.not.equal(others);
    }
    const keys = await Promise.all(
      ["s3", "api-store", "node-agent-store"].flatMap((name) =>
        [one, other].map(async (release) => release.valuesOf(`joypod-${name}`)),
      ),
    );
    expect(new Set(keys.map(({ secretKey }) => secretKey)).size, "keys of the object store").to.equal(6);
    const names = keys.map(({ accessKey }) => accessKey);
    expect(new Set(names).size, "names of the keys").to.equal(6);
    for (const name of names) expect(name).to.match(/^[0-9a-f]{20}$/);
    const versions = async (): Promise<unknown[]> =>
      Promise.all(made.map(async (name) => (await one.secret(name)).metadata.resourceVersion));
    const first = await versions();
    await one.upgrade();
    await one.runJob("make-secrets");
    expect(await versions()).to.deep.equal(first);
  });

  it("get missing keys, derived from existing ones", async () => {
    const release = await ReleaseFixture.in("partial", bundled);
    await release.setSecret("joypod-redis", { password: "old" });
    await release.setSecret("joypod-api", {
      passwordPepper: "the pepper of old players",
      other: "an admin's own",
    });
    await release.runJob("make-secrets");
    expect(await release.valuesOf("joypod-redis")).to.deep.equal({
      password: "old",
      url: `redis://:old@joypod-redis.${release.namespace}.svc:6379/0`,
    });
    const { signingKeys, ...rest } = await release.valuesOf("joypod-api");
    expect(rest).to.deep.equal({ passwordPepper: "the pepper of old players", other: "an admin's own" });
    expect(signingKeys).to.match(/^first:[A-Za-z0-9+/]{64}$/);
  });

  it("are only those of API, operator and connection tests without bundled stores, and none if an admin provides all", async () => {
    const release = await ReleaseFixture.in("external", external);
    await release.runJob("make-secrets");
    expect(await release.names()).to.have.members([
      "joypod-api",
      "joypod-operator",
      "joypod-connection-test",
    ]);
    expect(
      await release.render(
        "--set",
        "api.existingSecret=theirs,operator.existingSecret=theirs,connectionTest.existingSecret=theirs",
      ),
    ).to.not.contain("make-secrets");
  });

  for (const [title, values] of [
    ["bundled", bundled],
    ["other", external],
  ] as const) {
    it(`are neither rendered nor looked up with ${title} stores: every render is the same`, async () => {
      const release = await ReleaseFixture.in("rendered", values);
      const first = await release.render();
      await release.runJob("make-secrets");
      expect(await release.render()).to.equal(first);
      expect(await release.render("--dry-run=server")).to.equal(first);
      expect(first).to.not.match(/^kind: Secret$/m);
    });
  }
});
