import { execFileSync } from "node:child_process";
import { chmodSync } from "node:fs";
import { connect } from "node:net";
import { expect } from "chai";
import * as chart from "#test/support/chart/helmTemplate.ts";
import { ChildProgram, freePort } from "#test/support/processes/childProgram.ts";
import { temporaryFolder } from "#test/support/processes/temporaryFolder.ts";
import { startBundledPostgres } from "#test/support/stores/postgres.ts";

interface Container {
  name: string;
  command?: string[];
  env?: { name: string; value?: string; valueFrom?: { secretKeyRef?: { name: string; key: string } } }[];
  volumeMounts?: { name: string; mountPath: string; readOnly?: boolean }[];
}

interface Volume {
  name: string;
  secret?: { secretName: string; items?: { key: string; path: string }[]; defaultMode?: number };
  projected?: { sources: { serviceAccountToken?: object }[] };
}

interface Manifest {
  kind: string;
  metadata: { name: string };
  spec?: {
    template?: {
      spec: {
        securityContext?: { fsGroup?: number; fsGroupChangePolicy?: string };
        containers: Container[];
        initContainers?: Container[];
        volumes?: Volume[];
      };
    };
  };
}

const argumentsOf = (values: string, settings: string[]): string[] => [
  ...chart.values(values),
  ...settings.flatMap((setting) => ["--set", setting]),
];
const render = (values: string, ...settings: string[]): Promise<Manifest[]> =>
  chart.render<Manifest>(...argumentsOf(values, settings));
const isListening = (port: number, host: string): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(port, host, () => resolve(true))
      .once("error", () => resolve(false))
      .once("close", () => resolve(false));
    socket.once("connect", () => socket.destroy());
  });
const renderingError = (values: string, ...settings: string[]): Promise<string> =>
  chart.renderingError(...argumentsOf(values, settings));

/**
 * What a program finds where: files of secrets by their paths, and variables; a value of a secret is
 * `secret/key`.
 */
function lookInto(
  manifests: Manifest[],
  kind: string,
  name: string,
  { first = "containers" }: { first?: "containers" | "initContainers" } = {},
): { files: Record<string, string>; env: Record<string, string> } {
  const pod = manifests.find(
    (manifest) => manifest.kind === kind && manifest.metadata.name.replace(/-[0-9a-f]{8}$/, "") === name,
  )?.spec?.template?.spec;
  const [container] = pod?.[first] ?? [];
  const files: Record<string, string> = {};
  for (const { name: volume, mountPath, readOnly } of container?.volumeMounts ?? []) {
    const { secret, projected } = pod?.volumes?.find((one) => one.name === volume) ?? {};
    for (const { key, path } of secret?.items ?? [])
      files[`${mountPath}/${path}`] = `${secret?.secretName}/${key}, mode ${secret?.defaultMode}`;
    for (const { serviceAccountToken } of projected?.sources ?? [])
      files[mountPath] = JSON.stringify(serviceAccountToken);
    if (secret ?? projected) expect(readOnly, volume).to.equal(true);
  }
  const env = (container?.env ?? []).map(
    (variable) =>
      [
        variable.name,
        variable.value ?? Object.values(variable.valueFrom?.secretKeyRef ?? {}).join("/"),
      ] as const,
  );
  return { files, env: Object.fromEntries(env) };
}

describe("the chart's stores", function () {
  this.timeout(60_000);
  const authorities = ["postgres.caSecret=postgres-ca", "redis.caSecret=redis-ca", "s3.caSecret=s3-ca"];

  it("provide their CA certificates as files to each program that uses them, and to no other", async () => {
    const manifests = await render("external", ...authorities);
    const api = lookInto(manifests, "Deployment", "joypod-api");
    expect(api.files).to.deep.equal({
      "/etc/joypod/stores/postgres/ca.crt": "postgres-ca/ca.crt, mode 288",
      "/etc/joypod/stores/redis/ca.crt": "redis-ca/ca.crt, mode 288",
      "/etc/joypod/stores/s3/ca.crt": "s3-ca/ca.crt, mode 288",
    });
    expect(api.env).to.include({
      DATABASE_CA_FILE: "/etc/joypod/stores/postgres/ca.crt",
      REDIS_CA_FILE: "/etc/joypod/stores/redis/ca.crt",
      S3_CA_FILE: "/etc/joypod/stores/s3/ca.crt",
    });
    const migrate = lookInto(manifests, "Job", "joypod-migrate");
    expect(migrate.files).to.deep.equal({
      "/etc/joypod/stores/postgres/ca.crt": "postgres-ca/ca.crt, mode 288",
    });
    expect(migrate.env).to.include({ DATABASE_CA_FILE: "/etc/joypod/stores/postgres/ca.crt" });
    const unhooked = lookInto(
      await render("external", ...authorities, "helmHooks=false"),
      "Deployment",
      "joypod-api",
      { first: "initContainers" },
    );
    expect(unhooked.files, "of the migration before the API, where there are no hooks").to.deep.equal(
      migrate.files,
    );
    expect(unhooked.env).to.include({ DATABASE_CA_FILE: "/etc/joypod/stores/postgres/ca.crt" });
    const agent = lookInto(manifests, "DaemonSet", "joypod-node-agent");
    expect(agent.files, "of the copy in its own namespace").to.deep.equal({
      "/etc/joypod/stores/s3/ca.crt": "joypod-node-agent-store/ca.crt, mode 288",
    });
    expect(agent.env)
      .to.include({ S3_CA_FILE: "/etc/joypod/stores/s3/ca.crt" })
      .and.not.have.any.keys("DATABASE_CA_FILE", "REDIS_CA_FILE");
    const storeKeys = lookInto(manifests, "Job", "joypod-store-keys");
    expect(storeKeys.files, "of what copies it there: a bundle may be longer than a variable").to.deep.equal({
      "/etc/joypod/stores/s3/ca.crt": "s3-ca/ca.crt, mode 288",
    });
    expect(storeKeys.env).to.include({ NODE_AGENT_S3_CA_FILE: "/etc/joypod/stores/s3/ca.crt" });
    expect(lookInto(manifests, "Deployment", "joypod-operator").files).to.deep.equal({});
  });

  it("and a mail server with a private CA have its certificates in the API only", async () => {
    const manifests = await render("external", "auth.smtp.host=smtp.test", "auth.smtp.caSecret=smtp-ca");
    const api = lookInto(manifests, "Deployment", "joypod-api");
    expect(api.files).to.deep.equal({ "/etc/joypod/stores/smtp/ca.crt": "smtp-ca/ca.crt, mode 288" });
    expect(api.env).to.include({ SMTP_CA_FILE: "/etc/joypod/stores/smtp/ca.crt" });
    const withoutMail = await render("external", "auth.smtp.host=", "auth.smtp.caSecret=smtp-ca");
    expect(lookInto(withoutMail, "Deployment", "joypod-api").files).to.deep.equal({});
  });

  it("need none of it with values of an earlier release", async () => {
    const manifests = await render(
      "external",
      "postgres.caSecret=null",
      "redis.caSecret=null",
      "s3.caSecret=null",
      "s3.webIdentity=null",
    );
    for (const [kind, name] of [
      ["Deployment", "joypod-api"],
      ["Job", "joypod-migrate"],
      ["Job", "joypod-store-keys"],
      ["DaemonSet", "joypod-node-agent"],
    ] as const) {
      const { env } = lookInto(manifests, kind, name);
      expect(
        Object.keys(env).filter((variable) => /CA_FILE|^AWS_/.test(variable)),
        name,
      ).to.deep.equal([]);
    }
  });

  it("give API and agents a token for the audience and a role each, instead of keys", async () => {
    const settings = [
      "s3.webIdentity.enabled=true",
      "s3.webIdentity.roleArn=arn:api",
      "s3.webIdentity.audience=store",
    ];
    const manifests = await render(
      "external",
      ...settings,
      "s3.webIdentity.nodeAgent.roleArn=arn:agents",
      "s3.webIdentity.stsEndpoint=https://sts.example.com",
    );
    for (const [kind, name, role] of [
      ["Deployment", "joypod-api", "arn:api"],
      ["DaemonSet", "joypod-node-agent", "arn:agents"],
    ] as const) {
      const { files, env } = lookInto(manifests, kind, name);
      expect(files["/var/run/secrets/joypod/s3"], name).to.equal(
        '{"path":"token","expirationSeconds":3600,"audience":"store"}',
      );
      expect(env, name).to.include({
        AWS_WEB_IDENTITY_TOKEN_FILE: "/var/run/secrets/joypod/s3/token",
        AWS_ROLE_ARN: role,
        AWS_ENDPOINT_URL_STS: "https://sts.example.com",
      });
      expect(env, name).to.not.have.any.keys("S3_ACCESS_KEY", "S3_SECRET_KEY");
    }
    expect(
      lookInto(await render("external", ...settings), "DaemonSet", "joypod-node-agent").env,
      "the API's role",
    ).to.include({ AWS_ROLE_ARN: "arn:api" });
  });

  it("omit token and role if the cluster injects them", async () => {
    for (const [kind, name] of [
      ["Deployment", "joypod-api"],
      ["DaemonSet", "joypod-node-agent"],
    ] as const) {
      const { files, env } = lookInto(
        await render("external", "s3.webIdentity.enabled=true", "s3.webIdentity.audience="),
        kind,
        name,
      );
      expect(files, name).to.not.have.any.keys("/var/run/secrets/joypod/s3");
      expect(
        Object.keys(env).filter((variable) => /^AWS_|_KEY$/.test(variable) && variable.startsWith("S3_")),
        name,
      ).to.deep.equal([]);
      expect(env, name).to.not.have.any.keys("AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_ROLE_ARN");
    }
  });

  it("include a bundled Redis reachable by IPv4 and IPv6, because the kubelet probes the pod's first address", async () => {
    const redis = (await render("bundled")).find(
      ({ kind, metadata }) => kind === "StatefulSet" && metadata.name === "joypod-redis",
    );
    const [sh = "", option = "", script = ""] = redis?.spec?.template?.spec.containers[0]?.command ?? [];
    const [folder, port] = [temporaryFolder("redis"), await freePort()];
    const program = new ChildProgram({
      command: sh,
      args: [option, `${script.replaceAll("/tmp/", `${folder}/`).replace("/data", folder)} --port ${port}`],
      env: { ...process.env, REDIS_PASSWORD: "secret" },
      isReady: () => isListening(port, "127.0.0.1"),
      install: "apt-get install redis-server",
    });
    await program.start();
    try {
      expect(await isListening(port, "::1"), "over IPv6").to.be.true;
    } finally {
      await program.stop();
    }
  });

  it("include a bundled Postgres that restarts on a volume that the kubelet made accessible to the pod's group", async () => {
    const { program } = await startBundledPostgres((data) => {
      execFileSync("chmod", ["-R", "g+rwX", data]);
      chmodSync(data, 0o2770);
    });
    expect(program.hasEnded).to.equal(false);
    await program.stop();
  });

  it("change the group of their volumes once, not at every start", async () => {
    const stores = (await render("bundled")).filter(({ kind }) => kind === "StatefulSet");
    expect(stores.map(({ metadata }) => metadata.name)).to.have.members([
      "joypod-postgres",
      "joypod-redis",
      "joypod-minio",
    ]);
    for (const { metadata, spec } of stores) {
      expect(spec?.template?.spec.securityContext, metadata.name).to.include({
        fsGroup: 10_000,
        fsGroupChangePolicy: "OnRootMismatch",
      });
    }
  });

  it("are rejected if secrets, CA certificates or web identities would have no effect or are invalid", async () => {
    for (const setting of authorities)
      expect(await renderingError("bundled", setting)).to.contain("have no TLS");
    for (const store of ["postgres", "redis", "s3"])
      expect(await renderingError("bundled", `${store}.existingSecret=mine`)).to.contain(
        "set stores.bundled=false",
      );
    expect(await renderingError("bundled", "s3.webIdentity.enabled=true")).to.contain("trusts no tokens");
    expect(await renderingError("external", "s3.webIdentity.roleArn=joypod")).to.contain("roleArn");
    expect(await renderingError("external", "s3.webIdentity.stsEndpoint=sts.example.com")).to.contain(
      "stsEndpoint",
    );
    expect(await renderingError("external", "s3.webIdentity.role=joypod")).to.match(/additional propert/i);
  });
});
