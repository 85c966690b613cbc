import { Client } from "minio";
import { platform, releaseNamespace } from "./platform.ts";

/**
 * Reads a file from a stored save by name. Returns undefined if the save does not have it. The store can be
 * reached only inside the cluster, so the API's pod fetches a URL that is signed here.
 */
export async function readStoredSave(objectKey: string, file: string): Promise<string | undefined> {
  const installed = await platform();
  const [address = ""] = await signedAddresses([objectKey]);
  const script =
    'set -o pipefail; node -e \'fetch(process.argv[1]).then((r) => { if (!r.ok) process.exit(9); return r.body.pipeTo(new WritableStream({ write: (b) => new Promise((done) => process.stdout.write(b, done)) })); })\' "$1" | tar -xzOf - --no-anchored "$2"';
  try {
    return await installed.kubectl([
      "-n",
      releaseNamespace,
      "exec",
      "deploy/joypod-api",
      "-c",
      "api",
      "--",
      "bash",
      "-c",
      script,
      "bash",
      address,
      file,
    ]);
  } catch (error) {
    if (error instanceof Error && error.message.includes("Not found in archive")) return undefined;
    throw error;
  }
}

/** Returns URLs to read these objects, valid for ten minutes. Signing sends no request to the store. */
export async function signedAddresses(objectKeys: readonly string[]): Promise<string[]> {
  const installed = await platform();
  const { data } = JSON.parse(
    await installed.kubectl(["-n", releaseNamespace, "get", "secret", "joypod-s3", "-o", "json"]),
  ) as { data: Record<string, string> };
  const value = (key: string): string => Buffer.from(data[key] ?? "", "base64").toString();
  const { hostname, port } = new URL(value("endpoint"));
  const client = new Client({
    endPoint: hostname,
    port: Number(port),
    useSSL: false,
    region: value("region"),
    accessKey: value("accessKey"),
    secretKey: value("secretKey"),
  });
  return Promise.all(objectKeys.map((key) => client.presignedGetObject(value("bucket"), key, 600)));
}
