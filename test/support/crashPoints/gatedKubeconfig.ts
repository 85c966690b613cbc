import { readFileSync, writeFileSync } from "node:fs";
import { openKubeconfig } from "../cluster/openKubeconfig.ts";
import { kubeFailure, kubeWrite, startHttpGate } from "./httpGate.ts";
import type { Gate, Program } from "./strike.ts";

interface Kubeconfig {
  clusters: [{ cluster: { server: string; "certificate-authority-data": string } }];
  users: [{ user: { token?: string; "client-certificate-data"?: string; "client-key-data"?: string } }];
}

/**
 * Starts a gate in front of a kubeconfig's API server, and writes a kubeconfig for the gate with the same
 * rights.
 */
export async function writeGatedKubeconfig({
  gate,
  program,
  from,
  to,
}: {
  gate: Gate;
  program: Program;
  from: string;
  to: string;
}): Promise<{ close: () => Promise<void> }> {
  const {
    clusters: [{ cluster }],
    users: [{ user }],
  } = JSON.parse(readFileSync(from, "utf8")) as Kubeconfig;
  const { token, "client-certificate-data": certificate, "client-key-data": key } = user;
  const own =
    certificate === undefined || key === undefined ? {} : { cert: decoded(certificate), key: decoded(key) };
  const { url, close } = await startHttpGate({
    gate,
    program,
    store: "cluster",
    target: cluster.server,
    nameWrite: kubeWrite,
    failure: kubeFailure,
    identity: {
      tls: { ca: decoded(cluster["certificate-authority-data"]), ...own },
      ...(token !== undefined && { token }),
    },
  });
  writeFileSync(to, openKubeconfig(url));
  return { close };
}

function decoded(base64: string): string {
  return Buffer.from(base64, "base64").toString();
}
