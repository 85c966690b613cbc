import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "chai";
import { readConfig } from "#api/installation/storeKeys/config.ts";
import { CertificateAuthority } from "#test/support/http/certificates.ts";
import { temporaryFolder } from "#test/support/processes/temporaryFolder.ts";

const environment = {
  RELEASE_NAME: "joypod",
  NODE_AGENT_SECRET: "joypod-node-agent-store",
  NODE_AGENT_NAMESPACE: "joypod-nodes",
  NODE_AGENT_S3_ENDPOINT: "https://s3.example.com",
  NODE_AGENT_S3_REGION: "eu-1",
  NODE_AGENT_S3_BUCKET: "games",
  BUNDLED_STORES: "false",
};

describe("readConfig of the distribution of store keys", () => {
  const file = join(temporaryFolder("authorities"), "ca.crt");

  it("reads all CAs of the store's certificate, which may be more than a variable holds", async () => {
    const bundle = (await CertificateAuthority.create()).bundle(128 * 1024);
    writeFileSync(file, bundle);
    expect(readConfig({ ...environment, NODE_AGENT_S3_CA_FILE: file }).nodeAgentStore).to.include({
      "ca.crt": bundle,
    });
    expect(readConfig(environment).nodeAgentStore, "without a file").to.include({ "ca.crt": undefined });
  });

  it("trims keys and names from files, but not MinIO's own key", () => {
    const lines = {
      NODE_AGENT_S3_REGION: "eu-1\n",
      NODE_AGENT_S3_BUCKET: "games\n",
      NODE_AGENT_S3_ACCESS_KEY: "agent\n",
      NODE_AGENT_S3_SECRET_KEY: "secret\n",
    };
    const bundled = {
      API_S3_ACCESS_KEY: "api\n",
      API_S3_SECRET_KEY: "other\n",
      API_POLICY: "{}",
      NODE_AGENT_POLICY: "{}",
      MINIO_ROOT_USER: "root",
      MINIO_ROOT_PASSWORD: "password\n",
    };
    const relay = {
      RELAY_SECRET: "joypod-turn",
      RELAY_NAMESPACE: "joypod-relay",
      TURN_SECRET: "of the relay\n",
    };
    const config = readConfig({ ...environment, ...lines, ...bundled, ...relay, BUNDLED_STORES: "true" });
    expect(config.nodeAgentStore).to.include({
      region: "eu-1",
      bucket: "games",
      accessKey: "agent",
      secretKey: "secret",
    });
    expect(config.minio?.users.map(({ accessKey, secretKey }) => [accessKey, secretKey])).to.deep.equal([
      ["api", "other"],
      ["agent", "secret"],
    ]);
    expect(config.minio?.admin).to.include({ accessKey: "root", secretKey: "password\n" });
    expect(config.relay?.secret).to.equal("of the relay");
    expect(() => readConfig({ ...environment, ...lines, NODE_AGENT_S3_SECRET_KEY: "\n" })).to.throw(
      "NODE_AGENT_S3_SECRET_KEY",
    );
  });

  it("rejects a file without certificates, like the agents", () => {
    writeFileSync(file, "no certificate");
    expect(() => readConfig({ ...environment, NODE_AGENT_S3_CA_FILE: file })).to.throw(
      "NODE_AGENT_S3_CA_FILE",
    );
  });
});
