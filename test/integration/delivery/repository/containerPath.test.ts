import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "chai";
import { repositoryRoot } from "#test/support/processes/programs.ts";

/** What a container engine answers: nothing at all, nothing from its registry, or everything. */
type Engine = "silent" | "offline" | "online";

describe("the choice of container engine and mode", () => {
  let folder: string;
  beforeEach(() => (folder = mkdtempSync(join(tmpdir(), "joypod-path-"))));
  afterEach(() => rmSync(folder, { recursive: true }));

  function install(name: "docker" | "podman", engine: Engine): void {
    const answered = { silent: "none", offline: "info", online: "info|pull" }[engine];
    writeFileSync(join(folder, name), `#!/bin/sh\ncase $1 in ${answered}) exit 0 ;; esac\nexit 1\n`, {
      mode: 0o755,
    });
  }

  function choose(docker: Engine, podman: Engine, env: NodeJS.ProcessEnv = {}): string {
    install("docker", docker);
    install("podman", podman);
    const script = '. tools/lib.sh; . tools/containers.sh; choosePath; echo "$containerEngine $fromSource"';
    return execFileSync("bash", ["-euo", "pipefail", "-c", script], {
      cwd: repositoryRoot,
      encoding: "utf8",
      stdio: ["ignore", "pipe", "pipe"],
      env: { PATH: `${folder}:/usr/bin:/bin`, HOME: folder, JOYPOD_CACHE: join(folder, "cache"), ...env },
    }).trim();
  }

  it("is the default mode with Docker if Docker reaches its registry", () => {
    expect(choose("online", "online")).to.equal("docker no");
  });

  it("is the default mode with podman if only podman reaches its registry", () => {
    for (const docker of ["silent", "offline"] as const) {
      expect(choose(docker, "online", { JOYPOD_CACHE: join(folder, docker) }), docker).to.equal("podman no");
    }
  });

  it("is from-source mode if no engine reaches a registry", () => {
    expect(choose("offline", "silent")).to.equal("podman yes");
  });

  it("is cached for a day, or until a cluster is removed", () => {
    expect(choose("silent", "silent")).to.equal("podman yes");
    expect(choose("online", "silent")).to.equal("podman yes");
    rmSync(join(folder, "cache/path.env"));
    expect(choose("online", "silent")).to.equal("docker no");
  });

  it("is set by JOYPOD_FROM_SOURCE, with the engine that answers", () => {
    expect(choose("online", "silent", { JOYPOD_FROM_SOURCE: "yes" })).to.equal("podman yes");
    expect(choose("silent", "offline", { JOYPOD_FROM_SOURCE: "no" })).to.equal("podman no");
    expect(() => choose("silent", "silent", { JOYPOD_FROM_SOURCE: "no" })).to.throw(
      "neither Docker nor podman answers",
    );
    expect(() => choose("online", "silent", { JOYPOD_FROM_SOURCE: "maybe" })).to.throw(
      "JOYPOD_FROM_SOURCE must be yes or no",
    );
  });

  it("uses only the engine that JOYPOD_ENGINE allows", () => {
    expect(choose("online", "online", { JOYPOD_ENGINE: "podman" })).to.equal("podman no");
    expect(() => choose("offline", "online", { JOYPOD_ENGINE: "docker" })).to.throw(
      "reaches no image registry",
    );
  });
});
