import { expect } from "chai";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pictureFor } from "#api/gameSessions/launching/buildGameSessionSpec.ts";
import { readCliConfig } from "#api/cli/config.ts";
import { configWarnings, readConfig } from "#api/config.ts";
import { policiesOf } from "#api/http/rateLimits.ts";
import { CertificateAuthority } from "#test/support/http/certificates.ts";

const environment = {
  DATABASE_URL: "postgres://u:p@db:5432/joypod",
  REDIS_URL: "redis://redis:6379",
  S3_ENDPOINT: "http://minio:9000",
  S3_ACCESS_KEY: "a",
  S3_SECRET_KEY: "s",
  BASE_URL: "https://play.test",
  SIGNING_KEYS: "a:AbCdEfGhIjKlMnOpQrStUvWxYz0123456789+/AbCdE=",
  PASSWORD_PEPPER: "sixteen or more characters",
};

describe("readConfig", () => {
  it("requires only the required variables and has defaults for the rest", () => {
    const config = readConfig(environment);
    expect(config).to.deep.include({
      port: 8080,
      metricsPort: 8083,
      baseUrl: "https://play.test",
      isSecure: true,
      trustedProxies: 0,
      webRoot: undefined,
    });
    expect([...config.allowedOrigins]).to.deep.equal(["https://play.test"]);
    expect([...config.auth.signingKeys.keys()]).to.deep.equal(["a"]);
    expect(config.auth).to.include({ bcryptCost: 12, tokenLifetimeSeconds: 2_592_000 });
    expect(config.gameSession).to.include({ profile: "Software", idleTimeoutSeconds: 1800 });
  });

  it("refuses open sign-up without a mail server, and reads the mail server", () => {
    expect(() => readConfig({ ...environment, SIGN_UP: "open" })).to.throw(
      /must not be open without SMTP_HOST[\s\S]*SIGN_UP/,
    );
    expect(() => readConfig({ ...environment, SMTP_HOST: "mail.test", SMTP_USER: "a" })).to.throw(
      "must be set with SMTP_USER",
    );
    expect(() => readConfig({ ...environment, MAIL_FROM: "a@b.test, c@d.test" })).to.throw(
      "must be one address",
    );
    expect(readConfig(environment).mail).to.equal(undefined);
    const { mail, auth } = readConfig({ ...environment, SIGN_UP: "open", SMTP_HOST: "mail.test" });
    expect(auth.signUp).to.equal("open");
    expect(mail).to.deep.include({ port: 587, security: "starttls", from: "Joypod <no-reply@play.test>" });
  });

  it("reads where webhooks may go, and refuses what is no range or nameserver", () => {
    expect(readConfig(environment).webhooks).to.deep.equal({
      isEnabled: true,
      isHttpAllowed: false,
      allowed: [],
      denied: [],
      nameservers: [],
    });
    const { webhooks } = readConfig({
      ...environment,
      WEBHOOK_ALLOWED_NETWORKS: "10.0.0.0/8, fd00::1",
      WEBHOOK_NAMESERVERS: "192.0.2.53:5353",
    });
    expect(webhooks.allowed.map(([address, prefix]) => `${address.toString()}/${prefix}`)).to.deep.equal([
      "10.0.0.0/8",
      "fd00::1/128",
    ]);
    expect(webhooks.nameservers).to.deep.equal(["192.0.2.53:5353"]);
    for (const name of ["WEBHOOK_ALLOWED_NETWORKS", "WEBHOOK_DENIED_NETWORKS", "WEBHOOK_NAMESERVERS"])
      expect(() => readConfig({ ...environment, [name]: "example.com" }), name).to.throw(name);
  });

  it("reads the limits per network address", () => {
    const limitsWith = (variables: Record<string, string>): number[] => {
      const { authReads, authPosts, signInFailures } = policiesOf(
        readConfig({ ...environment, ...variables }),
      );
      return [authReads.points, authPosts.points, signInFailures.points];
    };
    expect(limitsWith({})).to.deep.equal([120, 60, 20]);
    expect(
      limitsWith({
        AUTH_READS_PER_MINUTE: "3000",
        AUTH_POSTS_PER_MINUTE: "2000",
        SIGN_IN_FAILURES_PER_ADDRESS: "1000",
      }),
    ).to.deep.equal([3000, 2000, 1000]);
  });

  it("reads the resources of games, with processors in millicores", () => {
    expect(readConfig(environment).siteResources).to.deep.equal({
      normal: { memoryMb: 1024, cpuMillicores: 500 },
      most: { memoryMb: 16_384, cpuMillicores: 4000, gpuShare: 1, width: 1920, height: 1080 },
      picture: { width: 1920, height: 1080 },
    });
    const { normal, most } = readConfig({
      ...environment,
      GAME_MEMORY_MB: "2048",
      GAME_CPUS: "1.5",
      GAME_CPUS_MAX: "8",
    }).siteResources;
    expect([normal, most.cpuMillicores]).to.deep.equal([{ memoryMb: 2048, cpuMillicores: 1500 }, 8000]);
  });

  it("caps a game's picture at the site's maximum for streams", () => {
    const sentIn = (variables: Record<string, string>) =>
      pictureFor(
        { memoryMb: null, cpuMillicores: null, gpuShare: null, pictureWidth: 1920, pictureHeight: 1080 },
        readConfig({ ...environment, ...variables }).siteResources,
      );
    expect(sentIn({ STREAM_MAX_WIDTH: "1280", STREAM_MAX_HEIGHT: "720" })).to.deep.equal({
      width: 1280,
      height: 720,
    });
    expect(sentIn({ STREAM_MAX_HEIGHT: "540" })).to.deep.equal({ width: 960, height: 540 });
    expect(sentIn({ STREAM_MAX_WIDTH: "2560", STREAM_MAX_HEIGHT: "1440" })).to.deep.equal({
      width: 1920,
      height: 1080,
    });
    expect(sentIn({})).to.deep.equal({ width: 1920, height: 1080 });
  });

  it("keeps the order of the signing keys", () => {
    const second = "b:bBcDeFgHiJkLmNoPqRsTuVwXyZ0123456789+/AbCdE=";
    expect([
      ...readConfig({
        ...environment,
        SIGNING_KEYS: ` ${second} , ${environment.SIGNING_KEYS}`,
      }).auth.signingKeys.keys(),
    ]).to.deep.equal(["b", "a"]);
  });

  it("bounds streams by the default size, by 1080p with GPUs, or by the configured maximum", () => {
    const streamOf = (variables: Record<string, string>) =>
      readConfig({ ...environment, ...variables }).gameSession.stream;
    const site = {
      width: 1280,
      height: 720,
      fps: 60,
      maxWidth: 1280,
      maxHeight: 720,
      maxFps: 60,
      maxKbps: 8000,
    };
    expect(streamOf({})).to.deep.equal(site);
    expect(streamOf({ STREAM_PROFILE: "Gpu" })).to.deep.equal({ ...site, maxWidth: 1920, maxHeight: 1080 });
    expect(streamOf({ STREAM_PROFILE: "Gpu", STREAM_WIDTH: "2560", STREAM_HEIGHT: "1440" })).to.include({
      width: 2560,
      maxWidth: 2560,
      maxHeight: 1440,
    });
    expect(
      streamOf({ STREAM_MAX_WIDTH: "854", STREAM_MAX_HEIGHT: "480", STREAM_MAX_FRAMES_PER_SECOND: "30" }),
    ).to.deep.equal({
      width: 854,
      height: 480,
      fps: 30,
      maxWidth: 854,
      maxHeight: 480,
      maxFps: 30,
      maxKbps: 8000,
    });
    expect(streamOf({ STREAM_FRAMES_PER_SECOND: "30", STREAM_MAX_FRAMES_PER_SECOND: "120" })).to.include({
      fps: 30,
      maxFps: 120,
    });
  });

  it("defaults to H.264 and VP8, and keeps the order of configured codecs", () => {
    expect(readConfig(environment).gameSession.codecs).to.deep.equal(["H264", "VP8"]);
    expect(readConfig({ ...environment, STREAM_CODECS: "AV1, H265,H264" }).gameSession.codecs).to.deep.equal([
      "AV1",
      "H265",
      "H264",
    ]);
  });

  it("enables connection tests only with an address and a key", () => {
    const CONNECTION_TEST_URL = "http://responders:8080";
    const CONNECTION_TEST_SIGNING_KEY = Buffer.alloc(32, 7).toString("base64");
    expect(readConfig(environment).connectionTest).to.equal(undefined);
    expect(readConfig({ ...environment, CONNECTION_TEST_URL }).connectionTest).to.equal(undefined);
    expect(
      readConfig({ ...environment, CONNECTION_TEST_URL, CONNECTION_TEST_SIGNING_KEY }).connectionTest,
    ).to.include({ url: CONNECTION_TEST_URL });
    expect(() =>
      readConfig({ ...environment, CONNECTION_TEST_URL, CONNECTION_TEST_SIGNING_KEY: "short" }),
    ).to.throw("CONNECTION_TEST_SIGNING_KEY");
  });

  const zeros = Buffer.alloc(32).toString("base64");
  for (const [name, value] of [
    ["SIGNING_KEYS", ""],
    ["SIGNING_KEYS", "a"],
    ["SIGNING_KEYS", "a:c2hvcnQ="],
    ["SIGNING_KEYS", `a:${zeros}`],
    ["SIGNING_KEYS", `${environment.SIGNING_KEYS},${environment.SIGNING_KEYS}`],
    ["SIGNING_KEYS", "a b:AbCdEfGhIjKlMnOpQrStUvWxYz0123456789+/AbCdE="],
    ["PASSWORD_PEPPER", "short"],
    ["PASSWORD_PEPPER", "change-me-change-me"],
    ["PASSWORD_PEPPER", "aaaaaaaaaaaaaaaaaaaa"],
    ["SIGNING_KEYS", `a:${Buffer.from("please-change-me-before-you-start").toString("base64")}`],
    ["BASE_URL", "https://play.test/path"],
    ["BASE_URL", "play.test"],
    ["ALLOWED_ORIGINS", "https://a.test,nonsense"],
    ["DATABASE_URL", "mysql://x"],
    ["REDIS_URL", "http://x"],
    ["REDIS_URL", "redis://:p%zz@x:6379"],
    ["REDIS_URL", "redis://u%:p@x:6379"],
    ["REDIS_URL", "x"],
    ["PORT", "x"],
    ["PORT", "70000"],
    ["BCRYPT_COST", "3"],
    ["STREAM_PROFILE", "gpu"],
    ["GAME_MEMORY_MB", "16385"],
    ["GAME_CPUS", "4.5"],
    ["GAME_CPUS_MAX", "many"],
    ["GAME_MEMORY_MB_MAX", "64"],
    ["TRUSTED_PROXIES", "-1"],
    ["AUTH_READS_PER_MINUTE", "0"],
    ["AUTH_POSTS_PER_MINUTE", "many"],
    ["SIGN_IN_FAILURES_PER_ADDRESS", "0"],
    ["STREAM_MAX_WIDTH", "100"],
    ["STREAM_MAX_FRAMES_PER_SECOND", "240"],
    ["STREAM_CODECS", "H264,VP9"],
    ["STREAM_CODECS", "H264,H264"],
    ["STREAM_CODECS", "AV1,H265"],
    ["STREAM_CODECS", ","],
  ] as const) {
    it(`refuses ${name}=${value.slice(0, 24)} and names it`, () => {
      expect(() => readConfig({ ...environment, [name]: value })).to.throw(name);
    });
  }

  it("explains how to encode a percent sign of the Redis password, and accepts it", () => {
    expect(() => readConfig({ ...environment, REDIS_URL: "redis://:50%off@redis:6379" }))
      .to.throw("%25")
      .with.property("message")
      .that.does.not.contain("50%");
    expect(readConfig({ ...environment, REDIS_URL: "redis://:50%25off@redis:6379" }).redis.url).to.equal(
      "redis://:50%25off@redis:6379",
    );
  });

  it("never repeats a secret in its error", () => {
    expect(() => readConfig({ ...environment, SIGNING_KEYS: "a:c2VjcmV0LWNhbmFyeQ==", PORT: "x" }))
      .to.throw(Error)
      .with.property("message")
      .that.does.not.contain("c2Vjcm");
  });
});

describe("configWarnings", () => {
  it("warns about missing TRUSTED_PROXIES with an https BASE_URL", () => {
    expect(configWarnings(readConfig(environment)).join()).to.contain("TRUSTED_PROXIES");
    expect(configWarnings(readConfig({ ...environment, TRUSTED_PROXIES: "1" }))).to.be.empty;
    expect(configWarnings(readConfig({ ...environment, BASE_URL: "http://play.test" }))).to.be.empty;
  });

  it("warns about a low password cost with an https BASE_URL", () => {
    const cheap = { ...environment, TRUSTED_PROXIES: "1", BCRYPT_COST: "11" };
    expect(configWarnings(readConfig(cheap)).join())
      .to.contain("BCRYPT_COST is 11")
      .and.contain("12 or more");
    expect(configWarnings(readConfig({ ...cheap, BASE_URL: "http://play.test" }))).to.be.empty;
  });
});

describe("certificate authorities of stores", () => {
  let folder: string;
  let file: string;

  before(async () => {
    folder = mkdtempSync(join(tmpdir(), "joypod-config-"));
    file = (await CertificateAuthority.create()).certificateFile;
  });
  after(() => rmSync(folder, { recursive: true, force: true }));

  it("verify the database's name and certificate, whatever its URL says", () => {
    for (const query of [
      "",
      "?sslmode=require",
      "?sslmode=prefer&sslrootcert=/else",
      "?ssl=true&connect_timeout=5",
    ]) {
      const { searchParams, pathname } = new URL(
        readConfig({
          ...environment,
          DATABASE_URL: `${environment.DATABASE_URL}${query}`,
          DATABASE_CA_FILE: file,
        }).postgres.url,
      );
      expect(
        [pathname, searchParams.get("sslmode"), searchParams.get("sslrootcert"), searchParams.get("ssl")],
        query,
      ).to.deep.equal(["/joypod", "verify-full", file, null]);
    }
    expect(
      readCliConfig({ DATABASE_URL: environment.DATABASE_URL, DATABASE_CA_FILE: file }).postgres.url,
    ).to.contain("sslmode=verify-full");
    expect(readConfig(environment).postgres.url, "as it is without one").to.equal(environment.DATABASE_URL);
  });

  it("are rejected if the URL disables verification", () => {
    for (const query of ["sslmode=disable", "sslmode=no-verify", "ssl=false"]) {
      expect(
        () =>
          readConfig({
            ...environment,
            DATABASE_URL: `${environment.DATABASE_URL}?${query}`,
            DATABASE_CA_FILE: file,
          }),
        query,
      ).to.throw("DATABASE_CA_FILE");
    }
    expect(() => readConfig({ ...environment, REDIS_CA_FILE: file })).to.throw("must begin with rediss://");
    expect(() => readConfig({ ...environment, S3_CA_FILE: file })).to.throw("it must begin with https://");
  });

  it("are rejected if their file is missing or contains no certificate", () => {
    const empty = join(folder, "ca.crt");
    writeFileSync(empty, "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n");
    expect(() => readConfig({ ...environment, DATABASE_CA_FILE: empty })).to.throw(
      "must be a file with PEM certificates",
    );
    expect(() => readConfig({ ...environment, DATABASE_CA_FILE: join(folder, "none") })).to.throw(
      "cannot be read: ENOENT",
    );
  });
});

describe("keys of the object store", () => {
  const { S3_ACCESS_KEY, S3_SECRET_KEY, ...keyless } = environment;
  const token = { AWS_WEB_IDENTITY_TOKEN_FILE: "/run/token" };

  it("may be the temporary keys of a web identity, from AWS or the store", () => {
    expect(
      readConfig({ ...keyless, ...token, AWS_ROLE_ARN: "arn:aws:iam::1:role/a" }).objectStore.webIdentity,
    ).to.deep.equal({
      tokenFile: "/run/token",
      role: "arn:aws:iam::1:role/a",
      roleSession: "joypod",
      endpoint: "http://minio:9000",
      authorities: undefined,
    });
    for (const [endpoint, sts] of [
      ["https://s3.eu-west-1.amazonaws.com", "https://sts.eu-west-1.amazonaws.com"],
      ["https://s3.cn-north-1.amazonaws.com.cn", "https://sts.cn-north-1.amazonaws.com.cn"],
      ["https://notamazonaws.com", "https://notamazonaws.com"],
    ] as const) {
      const region = sts.split(".")[1] ?? "";
      expect(
        readConfig({ ...keyless, ...token, S3_ENDPOINT: endpoint, S3_REGION: region }).objectStore.webIdentity
          ?.endpoint,
      ).to.equal(sts);
    }
    expect(
      readConfig({ ...keyless, ...token, AWS_ENDPOINT_URL_STS: "https://sts.test" }).objectStore.webIdentity
        ?.endpoint,
    ).to.equal("https://sts.test");
    expect(readConfig({ ...environment, ...token }).objectStore.webIdentity, "a key counts first").to.equal(
      undefined,
    );
  });

  it("are read without a trailing newline, and count as missing if empty", () => {
    const lines = { S3_ACCESS_KEY: "access\n", S3_SECRET_KEY: "secret\r\n" };
    expect(readConfig({ ...environment, ...lines }).objectStore).to.include({
      accessKey: "access",
      secretKey: "secret",
    });
    expect(() => readConfig({ ...environment, ...lines, S3_ACCESS_KEY: "\n" })).to.throw("S3_ACCESS_KEY");
    expect(
      readConfig({ ...environment, ...token, S3_ACCESS_KEY: "\n", S3_SECRET_KEY: "\n" }).objectStore
        .webIdentity?.tokenFile,
    ).to.equal("/run/token");
  });

  it("are named with the key of the chart's secret if missing, without other values", () => {
    const wrong: [Record<string, string | undefined>, RegExp][] = [
      [keyless, /S3_ACCESS_KEY[^]*S3_SECRET_KEY|accessKey[^]*secretKey/],
      [
        { ...keyless, ...token, S3_ACCESS_KEY },
        /secretKey of the secret that s3\.existingSecret names[^]*S3_SECRET_KEY/,
      ],
      [
        { ...keyless, S3_SECRET_KEY },
        /accessKey of the secret that s3\.existingSecret names[^]*S3_ACCESS_KEY/,
      ],
      [
        { ...environment, S3_ENDPOINT: undefined },
        /endpoint of the secret that s3\.existingSecret names[^]*S3_ENDPOINT/,
      ],
      [
        { ...environment, DATABASE_URL: undefined },
        /url of the secret named by postgres\.existingSecret[^]*DATABASE_URL/,
      ],
      [
        { ...environment, REDIS_URL: undefined },
        /url of the secret named by redis\.existingSecret[^]*REDIS_URL/,
      ],
      [
        { ...environment, PASSWORD_PEPPER: undefined },
        /passwordPepper of the secret named by api\.existingSecret[^]*PASSWORD_PEPPER/,
      ],
      [
        { ...environment, SIGNING_KEYS: undefined },
        /signingKeys of the secret named by api\.existingSecret[^]*SIGNING_KEYS/,
      ],
    ];
    for (const [variables, message] of wrong) expect(() => readConfig(variables)).to.throw(message);
  });
});
