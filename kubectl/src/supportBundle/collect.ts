import { writeFile } from "node:fs/promises";
import { unescape } from "node:querystring";
import { gunzipSync, gzipSync } from "node:zlib";
import { packTar } from "modern-tar";
import { containerNames } from "#contracts/nodeLayout.ts";
import { events, nodes, secrets, type Event, type Node, type Pod } from "#kube/api/builtin.ts";
import { isForbidden, isKubeError } from "#kube/api/errors.ts";
import type { Stored } from "#kube/api/object.ts";
import { isRecord } from "#kube/client/decode.ts";
import { ResourceClient } from "#kube/client/resourceClient.ts";
import { messageOf } from "#runtime/errors.ts";
import { AdminError } from "../adminError.ts";
import type { Installation } from "../cluster/installation.ts";
import { observe, type Observed, readPodLog } from "../cluster/observe.ts";
import { presentStatus, statusOf } from "../status/status.ts";
import { Redactor } from "./redactor.ts";

/** A file in the bundle. */
interface BundleFile {
  name: string;
  content: string;
}

/** Maximum number of lines per log. */
const logLines = 5_000;
const logsAtOnce = 8;

/** Reads and redacts the content of a bundle. Throws KubeError if the installation cannot be read. */
export async function collect(installation: Installation): Promise<BundleFile[]> {
  const { transport, namespace, sessionsNamespace } = installation;
  const observed = await observe(installation);
  const now = installation.now();
  const namespaces = [
    ...new Set([
      namespace,
      sessionsNamespace,
      ...observed.workloads.flatMap(({ metadata }) => metadata.namespace ?? []),
    ]),
  ];
  const [machines, recorded, values, version, redactor] = await Promise.all([
    listed(() => new ResourceClient(transport, nodes).listAll()),
    Promise.all(
      namespaces.map((each) =>
        listed(() => new ResourceClient(transport, events).listAll({ namespace: each })),
      ),
    ),
    findHelmValues(installation),
    transport
      .request({ method: "GET", path: "/version" })
      .catch((error: unknown) =>
        isKubeError(error) ? { error: error.message } : Promise.reject(error as Error),
      ),
    redactorOf(installation, observed, namespaces),
  ]);
  const json = (name: string, content: unknown): BundleFile => ({
    name,
    content: `${JSON.stringify(redactor.value(content), null, 2)}\n`,
  });
  return [
    {
      name: "status.txt",
      content: `${redactor.text(presentStatus(statusOf(installation, observed, now), now))}\n`,
    },
    json("status.json", statusOf(installation, observed, now)),
    json("versions.json", {
      takenAt: now.toISOString(),
      kubernetes: version,
      images: imagesOf(observed),
      machines: machines.map(machineOf),
    }),
    json("helm-values.json", values ?? { note: "The Helm release record is missing or cannot be read." }),
    json("gamesessions.json", observed.sessions),
    json("gamecaches.json", observed.caches),
    json("gamenodes.json", observed.nodes),
    json("workloads.json", observed.workloads),
    json("pods.json", [...observed.programPods, ...observed.sessionPods]),
    json("nodes.json", machines),
    json("leases.json", observed.leases),
    json("events.json", inOrder(recorded.flat())),
    ...(await logsOf(installation, [...observed.programPods, ...observed.sessionPods], redactor)),
  ];
}

async function logsOf(
  { transport }: Installation,
  pods: readonly Stored<Pod>[],
  redactor: Redactor,
): Promise<BundleFile[]> {
  const wanted = pods
    .flatMap(({ metadata, spec, status }) =>
      [...(spec?.initContainers ?? []), ...(spec?.containers ?? [])].flatMap(({ name: container }) => {
        const restarts =
          [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])].find(
            ({ name }) => name === container,
          )?.restartCount ?? 0;
        return (restarts > 0 ? [false, true] : [false]).map((previous) => ({
          namespace: metadata.namespace ?? "",
          pod: metadata.name,
          container,
          previous,
          tailLines: logLines,
        }));
      }),
    )
    // The output of a game may contain data of its player.
    .filter(({ container }) => container !== containerNames.game);
  const files: BundleFile[] = [];
  for (let at = 0; at < wanted.length; at += logsAtOnce) {
    files.push(
      ...(await Promise.all(
        wanted.slice(at, at + logsAtOnce).map(async (query) => {
          const lines = await readPodLog(transport, query);
          const name = `logs/${query.namespace}/${query.pod}/${query.container}${query.previous ? ".previous" : ""}.log`;
          return { name, content: lines.map((line) => `${redactor.text(line)}\n`).join("") };
        }),
      )),
    );
  }
  return files.filter(({ content }) => content !== "");
}

/**
 * Creates a redactor that knows the values of the Secrets, so that they are found everywhere. Without
 * permission to read Secrets, only the patterns apply.
 */
async function redactorOf(
  { transport, release }: Installation,
  { workloads, sessions, programPods, sessionPods, nodes: gameNodes }: Observed,
  namespaces: readonly string[],
): Promise<Redactor> {
  const known = await Promise.all(
    namespaces.map((namespace) =>
      listed(() => new ResourceClient(transport, secrets).listAll({ namespace })),
    ),
  );
  const names = [release, ...namespaces, "joypod", ...workloads.map(({ metadata }) => metadata.name)];
  const values = known
    .flat()
    .filter(({ type }) => type !== "helm.sh/release.v1")
    .flatMap(({ data = {} }) => Object.entries(data))
    .filter(([name]) => !openEntry.test(name))
    .flatMap(([, value]) => secretsOf(Buffer.from(value, "base64").toString()))
    // The programs' user names in the bundled stores, such as `joypod-api`, are the same as the programs'
    // names.
    .filter((value) => !names.some((name) => name.includes(value)));
  const podAddresses = [...programPods, ...sessionPods].flatMap(({ status }) => [
    status?.podIP,
    status?.hostIP,
    ...(status?.podIPs ?? []).map(({ ip }) => ip),
  ]);
  const nodeAddresses = gameNodes.flatMap(({ status }) => [
    status?.addresses?.internal,
    status?.addresses?.external,
    ...(status?.addresses?.announced ?? []),
  ]);
  return new Redactor({
    secrets: values,
    players: [...new Set(sessions.map(({ spec }) => spec.userId))],
    ownAddresses: new Set([...podAddresses, ...nodeAddresses].filter((address) => address !== undefined)),
  });
}

/** Entries of Secrets with locations and names. They are not secret, and their words occur everywhere. */
const openEntry = /^(bucket|region|endpoint|host|port|database|namespace|user|user-?name|.*\.crt)$/i;

/**
 * Returns the value and, if it is a URL with a password, also the password, as written and decoded, because
 * it may occur outside the URL. Decoding tolerates a lone percent sign.
 */
function secretsOf(value: string): string[] {
  const password = URL.canParse(value) ? new URL(value).password : "";
  return password === "" ? [value] : [value, password, unescape(password)];
}

/** Returns the objects; empty without permission, because the rest of the bundle is still useful. */
async function listed<T>(list: () => Promise<{ items: T[] }>): Promise<T[]> {
  try {
    return (await list()).items;
  } catch (error) {
    if (isForbidden(error)) return [];
    throw error;
  }
}

function imagesOf({ programPods, sessionPods }: Observed): string[] {
  return [
    ...new Set(
      [...programPods, ...sessionPods].flatMap(({ status }) =>
        (status?.containerStatuses ?? []).map(({ image, imageID }) => `${image} ${imageID}`),
      ),
    ),
  ].toSorted();
}

function machineOf({ metadata: { name }, status }: Node): Record<string, unknown> {
  const { kubeletVersion, containerRuntimeVersion, kernelVersion, osImage, architecture } =
    status?.nodeInfo ?? {};
  return { name, kubeletVersion, containerRuntimeVersion, kernelVersion, osImage, architecture };
}

function inOrder(recorded: readonly Stored<Event>[]): Stored<Event>[] {
  return recorded.toSorted((a, b) =>
    a.metadata.creationTimestamp.localeCompare(b.metadata.creationTimestamp),
  );
}

/** Releases are smaller: Kubernetes limits Secrets to 1 MiB, and charts compress well. */
const maxBytes = 64 * 2 ** 20;

/**
 * Returns the chart values that the admin set, from Helm's release record. Returns undefined if Helm did not
 * install the release, or the record may not be read.
 */
async function findHelmValues({ transport, namespace, release }: Installation): Promise<unknown> {
  try {
    const { items } = await new ResourceClient(transport, secrets).listAll({
      namespace,
      labelSelector: `owner=helm,name=${release},status=deployed`,
    });
    const newest = items
      .toSorted((a, b) => Number(a.metadata.labels?.version) - Number(b.metadata.labels?.version))
      .at(-1);
    const record = newest?.data?.release;
    if (record === undefined) return undefined;
    // Kubernetes encodes Helm's base64 text in base64 again.
    const packed = Buffer.from(Buffer.from(record, "base64").toString(), "base64");
    const content: unknown = JSON.parse(gunzipSync(packed, { maxOutputLength: maxBytes }).toString());
    return isRecord(content) ? (content.config ?? {}) : undefined;
  } catch (error) {
    if (isForbidden(error)) return undefined;
    throw error;
  }
}

/**
 * Writes the files as a tar.gz with a single top-level folder. Throws AdminError if the file exists already
 * or cannot be written.
 */
export async function writeBundle(
  path: string,
  folder: string,
  files: readonly BundleFile[],
  now: Date,
): Promise<void> {
  const tar = await packTar(
    files.map(({ name, content }) => {
      const body = Buffer.from(content);
      return {
        header: {
          name: `${folder}/${name}`,
          size: body.length,
          type: "file" as const,
          mode: 0o600,
          mtime: now,
        },
        body,
      };
    }),
  );
  try {
    // Other users of the machine do not need access.
    await writeFile(path, gzipSync(tar), { mode: 0o600, flag: "wx" });
  } catch (cause) {
    throw new AdminError(
      `${path} cannot be written (${messageOf(cause)}). Specify another file with --output-file.`,
      undefined,
      { cause },
    );
  }
}
