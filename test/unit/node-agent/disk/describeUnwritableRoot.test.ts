import { expect } from "chai";
import { describeUnwritableRoot } from "#node-agent/disk/files.ts";

describe("describeUnwritableRoot", () => {
  const root = "/var/lib/joypod";
  const errorOf = (code: string, what: string): Error =>
    Object.assign(new Error(`${code}: ${what}, open '${root}/.check'`), { code });

  it("names SELinux and its remedy if root is denied access", () => {
    expect(describeUnwritableRoot(root, errorOf("EACCES", "permission denied"))).to.equal(
      "/var/lib/joypod is not writable: EACCES: permission denied, open '/var/lib/joypod/.check'. " +
        "If the node enforces SELinux, label the folder and set nodeAgent.seLinuxOptions (see docs/install.md). Otherwise repair the disk, or set gameNodes.root to a folder on another disk.",
    );
  });

  it("names only the disk if it has failed", () => {
    expect(describeUnwritableRoot(root, errorOf("EROFS", "read-only file system"))).to.equal(
      "/var/lib/joypod is not writable: EROFS: read-only file system, open '/var/lib/joypod/.check'. Repair the disk, or set gameNodes.root to a folder on another disk.",
    );
  });
});
