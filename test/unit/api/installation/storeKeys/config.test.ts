import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "chai";
import { readConfig } from "#api/installation/storeKeys/config.ts";
import { CertificateAuthority } from "#test/support/http/certificates.ts";
import { temporaryFolder } from "#test/support/processes/temporaryFolder.ts";

const environment = {
  RELEASE_NAME: "joypod", NODE_AGENT_SECRET: "joypod-node-agent-store", NODE_AGENT_NAMESPACE: "joypod-nodes",
  NODE_AGENT_S3_ENDPOINT: "https://s3.example.com", NODE_AGENT_S3_REGION: "eu-1", NODE_AGENT_S3_BUCKET: "games", BUNDLED_STORES: "false",
};

describe("readConfig of the handing out of store keys", () => {
  const file = join(temporaryFolder("authorities"), "ca.crt");

  it("reads all authorities of the store's certificate, of which there may be more than a variable holds", async () => {
    const bundle = (await CertificateAuthority.create()).bundle(128 * 1024);
    writeFileSync(file, bundle);
    expect(readConfig({ ...environment, NODE_AGENT_S3_CA_FILE: file }).nodeAgentStore).to.include({ "ca.crt": bundle });
    expect(readConfig(environment).nodeAgentStore, "without a file").to.include({ "ca.crt": undefined });
  });

  it("refuses a file without certificates, as the agents would", () => {
    writeFileSync(file, "no certificate");
    expect(() => readConfig({ ...environment, NODE_AGENT_S3_CA_FILE: file })).to.throw("NODE_AGENT_S3_CA_FILE");
  });
});
