import { writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { expect } from "chai";
import { readKubeconfig } from "#kubectl/cluster/connect.ts";
import { temporaryFolder } from "#test/support/processes/temporaryFolder.ts";

describe("readKubeconfig", () => {
  let folder: string;

  beforeEach(() => {
    folder = temporaryFolder("kubeconfig");
  });

  /** Writes a kubeconfig whose cluster, user and context have the same name, and returns its path. */
  function write(file: string, name: string, server: string, currentContext = name): string {
    const path = join(folder, file);
    writeFileSync(
      path,
      JSON.stringify({
        apiVersion: "v1",
        kind: "Config",
        "current-context": currentContext,
        clusters: [{ name, cluster: { server, "certificate-authority": `${file}.crt` } }],
        users: [{ name, user: { token: `token-of-${file}` } }],
        contexts: [{ name, context: { cluster: name, user: name } }],
      }),
    );
    return path;
  }

  const listed = (...paths: string[]): string => paths.join(delimiter);

  it("uses the context of the first file in KUBECONFIG and merges all contexts", () => {
    const config = readKubeconfig({
      variable: listed(
        write("a", "play", "https://a.test", ""),
        write("b", "work", "https://b.test"),
        write("c", "home", "https://c.test"),
      ),
    });
    expect(config.getCurrentContext()).to.equal("work");
    expect(config.getCurrentCluster()?.server).to.equal("https://b.test");
    expect(config.getContexts().map(({ name }) => name)).to.deep.equal(["play", "work", "home"]);
  });

  it("keeps the first cluster, user and context of each name", () => {
    const config = readKubeconfig({
      variable: listed(write("a", "play", "https://a.test"), write("b", "play", "https://b.test")),
    });
    expect(config.getClusters().map(({ server, caFile }) => ({ server, caFile }))).to.deep.equal([
      { server: "https://a.test", caFile: join(folder, "a.crt") },
    ]);
    expect(config.getUsers().map(({ token }) => token)).to.deep.equal(["token-of-a"]);
    expect(config.getContexts()).to.have.lengthOf(1);
  });

  it("ignores missing files in KUBECONFIG unless all are missing", () => {
    const missing = join(folder, "missing");
    expect(
      readKubeconfig({
        variable: listed("", missing, write("a", "play", "https://a.test")),
      }).getCurrentCluster()?.server,
    ).to.equal("https://a.test");
    expect(() => readKubeconfig({ variable: missing })).to.throw("none of the files in KUBECONFIG exists");
  });

  it("prefers --kubeconfig to KUBECONFIG", () => {
    const variable = write("a", "play", "https://a.test");
    expect(
      readKubeconfig({ file: write("b", "work", "https://b.test"), variable }).getCurrentCluster()?.server,
    ).to.equal("https://b.test");
    expect(() => readKubeconfig({ file: join(folder, "missing"), variable })).to.throw("ENOENT");
  });
});
