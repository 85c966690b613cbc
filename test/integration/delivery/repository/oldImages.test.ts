import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "chai";
import { repositoryRoot } from "#test/support/processes/programs.ts";

describe("old images", () => {
  let folder: string;
  beforeEach(() => (folder = mkdtempSync(join(tmpdir(), "joypod-old-images-"))));
  afterEach(() => rmSync(folder, { recursive: true }));

  /** Returns the tags, of these, newest first, that are removed after one was built. */
  function removed(built: string, tags: readonly string[]): string[] {
    const list = tags.map((tag) => `localhost/joypod/game:${tag}`).join("\n");
    writeFileSync(
      join(folder, "docker"),
      `#!/bin/sh\ncase $1 in images) echo '${list}' ;; rmi) echo "\${2##*:}" >>${folder}/removed ;; esac\n`,
      { mode: 0o755 },
    );
    const script = `. tools/lib.sh; . tools/containers.sh; containerEngine=docker; removeOldTags localhost/joypod/game:${built}`;
    execFileSync("bash", ["-euo", "pipefail", "-c", script], {
      cwd: repositoryRoot,
      stdio: ["ignore", "pipe", "pipe"],
      env: { PATH: `${folder}:/usr/bin:/bin`, HOME: folder, JOYPOD_CACHE: join(folder, "cache") },
    });
    const file = join(folder, "removed");
    return existsSync(file) ? readFileSync(file, "utf8").trim().split("\n") : [];
  }

  it("are removed except the built image and the two newest others", () => {
    expect(removed("e", ["e", "d", "c", "b", "a"])).to.deep.equal(["b", "a"]);
  });

  it("do not include the built image, even if it is the oldest after earlier code was built again", () => {
    expect(removed("a", ["e", "d", "c", "b", "a"])).to.deep.equal(["c", "b"]);
  });

  it("do not exist if the image is the only one of its name", () => {
    expect(removed("a", ["a"])).to.deep.equal([]);
  });
});
