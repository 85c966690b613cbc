import { join } from "node:path";
import { isBuiltOf } from "./builtFile.ts";
import { repositoryRoot } from "./programs.ts";

/** Bundled programs of the control plane's image that tests start, and the sources of their bundles. */
const ofApi = [
  "api/src",
  "packages/archive/src",
  "packages/contracts/src",
  "packages/kube/src",
  "packages/runtime/src",
  "packages/s3/src",
];
const ofOperator = ["operator/src", "packages/contracts/src", "packages/kube/src", "packages/runtime/src"];
const programs = {
  joypod: { source: "api/bin/joypod", folders: ofApi },
  makeSecrets: { source: "api/src/installation/secrets/main.ts", folders: ofApi },
  giveStoreKeys: { source: "api/src/installation/storeKeys/main.ts", folders: ofApi },
  api: { source: "api/src/main.ts", folders: ofApi },
  operator: { source: "operator/src/main.ts", folders: ofOperator },
  networkProbe: { source: "operator/src/networkProbe/main.ts", folders: ofOperator },
  networkTest: { source: "operator/src/networkTest/main.ts", folders: ofOperator },
  nodeAgent: {
    source: "node-agent/src/main.ts",
    folders: [
      "node-agent/src",
      "packages/archive/src",
      "packages/contracts/src",
      "packages/kube/src",
      "packages/runtime/src",
      "packages/s3/src",
    ],
  },
} as const;

/** A program of that image. */
export type ControlPlaneProgram = keyof typeof programs;

const found = new Map<string, string>();

/**
 * Returns the path of a program in the repository: its bundle, which starts three times as fast, if it is up
 * to date (`make test` builds it), otherwise its source.
 */
export function controlPlaneProgram(name: ControlPlaneProgram): string {
  const file = found.get(name) ?? currentFile(name);
  found.set(name, file);
  return file;
}

/** Returns the command and the first arguments of the `joypod` command line, chosen in the same way. */
export function joypodProgram(): string[] {
  const file = controlPlaneProgram("joypod");
  return file === programs.joypod.source
    ? [join(repositoryRoot, file)]
    : [process.execPath, join(repositoryRoot, file)];
}

function currentFile(name: ControlPlaneProgram): string {
  const { source, folders } = programs[name];
  const bundle = `api/dist/programs/${name}.js`;
  return isBuiltOf(bundle, folders) ? bundle : source;
}
