import { existsSync } from "node:fs";
import { BlockList, isIP } from "node:net";
import { delimiter } from "node:path";
import { KubeConfig } from "@kubernetes/client-node";
import { KubeTransport } from "#kube/client/transport.ts";
import { messageOf } from "#runtime/errors.ts";
import { type Environment as Variables, listed, type Environment } from "#runtime/program/readEnvironment.ts";
import type { Clock } from "#runtime/scheduling/clock.ts";
import { AdminError, exitCodes } from "../adminError.ts";

/** kubectl's options of the same names, and KUBECONFIG and the proxy variables of the environment. */
export interface ConnectionOptions {
  kubeconfig?: string | undefined;
  kubeconfigVariable?: string | undefined;
  /** The proxy variables. Defaults to none. */
  proxyVariables?: Variables | undefined;
  context?: string | undefined;
  namespace?: string | undefined;
}

/** A connection to a cluster. */
export interface Connection {
  transport: KubeTransport;
  server: string;
  /** The namespace in the kubeconfig; undefined if it names none. */
  contextNamespace: string | undefined;
  /**
   * Returns the time by the API server's clock, from its last response. Times written in the cluster are
   * compared with it, because the admin's clock may be minutes off.
   */
  now: () => Date;
}

/**
 * Connects to the cluster of the kubeconfig, found like kubectl does: --kubeconfig, KUBECONFIG, or
 * ~/.kube/config. Throws AdminError if it names none.
 */
export function connect(
  { kubeconfig, kubeconfigVariable, proxyVariables = {}, context }: ConnectionOptions,
  clock: Clock,
): Connection {
  const config = readOrExplain({ file: kubeconfig, variable: kubeconfigVariable });
  if (context !== undefined) {
    if (config.getContextObject(context) === null)
      throw new AdminError(
        `The kubeconfig has no context ${context}. Run \`kubectl config get-contexts\` for a list.`,
        exitCodes.usage,
      );
    config.setCurrentContext(context);
  }
  const cluster = config.getCurrentCluster();
  if (cluster === null)
    throw new AdminError(
      "The kubeconfig has no current context. Specify --context, or run `kubectl config use-context NAME`.",
      exitCodes.usage,
    );
  const proxyUrl = proxyOf(cluster.server, proxyVariables);
  const transport = new KubeTransport(config, {
    userAgent: "kubectl-joypod",
    deadlineMs: 15_000,
    maxAttempts: 3,
    clock,
    proxyUrl,
  });
  return {
    transport,
    server: cluster.server,
    contextNamespace: config.getContextObject(config.getCurrentContext())?.namespace,
    now: () => new Date(clock.now().getTime() - (transport.clockOffsetMs ?? 0)),
  };
}

function readOrExplain(places: KubeconfigPlaces): KubeConfig {
  try {
    return readKubeconfig(places);
  } catch (cause) {
    throw new AdminError(
      `The kubeconfig cannot be read (${messageOf(cause)}). Check --kubeconfig and KUBECONFIG.`,
      exitCodes.usage,
      { cause },
    );
  }
}

/** Possible locations of a kubeconfig. */
interface KubeconfigPlaces {
  /** --kubeconfig: one file. */
  file?: string | undefined;
  /** KUBECONFIG: a list of files. */
  variable?: string | undefined;
}

/**
 * Returns the kubeconfig that kubectl would use: from --kubeconfig, the files in KUBECONFIG, or
 * ~/.kube/config. Throws if none can be read.
 */
export function readKubeconfig({ file, variable = "" }: KubeconfigPlaces): KubeConfig {
  if (file !== undefined) return fromFile(file);
  if (variable !== "") return fromFiles(variable.split(delimiter).filter((path) => path !== ""));
  const config = new KubeConfig();
  config.loadFromDefault();
  return config;
}

/**
 * Merges kubeconfigs like kubectl. The client library instead uses the context of the last file, and fails
 * for a missing file and for a name that occurs in two files.
 */
function fromFiles(paths: readonly string[]): KubeConfig {
  const configs = paths.filter((path) => existsSync(path)).map(fromFile);
  if (configs.length === 0) throw new Error("none of the files in KUBECONFIG exists");
  const merged = new KubeConfig();
  merged.loadFromOptions({
    clusters: firstOfEachName(configs.flatMap(({ clusters }) => clusters)),
    users: firstOfEachName(configs.flatMap(({ users }) => users)),
    contexts: firstOfEachName(configs.flatMap(({ contexts }) => contexts)),
    currentContext: configs.map((config) => config.getCurrentContext()).find(Boolean),
  });
  return merged;
}

function fromFile(path: string): KubeConfig {
  const config = new KubeConfig();
  config.loadFromFile(path);
  return config;
}

function firstOfEachName<T extends { name: string }>(entries: readonly T[]): T[] {
  const byName = new Map<string, T>();
  for (const entry of entries) if (!byName.has(entry.name)) byName.set(entry.name, entry);
  return [...byName.values()];
}

/**
 * Returns the proxy that kubectl uses for this server if the kubeconfig names none: HTTPS_PROXY, or
 * HTTP_PROXY for http addresses, unless NO_PROXY matches the server. Undefined for none and for loopback
 * addresses.
 */
export function proxyOf(server: string, variables: Environment): string | undefined {
  if (!URL.canParse(server)) return undefined; // The first request reports it.
  const { protocol, hostname, port } = new URL(server);
  const isHttps = protocol === "https:";
  const proxy = valueOf(variables, isHttps ? "HTTPS_PROXY" : "HTTP_PROXY");
  const host = hostname.replace(/^\[(.+)\]$/, "$1");
  if (proxy === "" || isOwnAddress(host)) return undefined;
  const hostPort = port === "" ? (isHttps ? "443" : "80") : port;
  if (listed(valueOf(variables, "NO_PROXY")).some((entry) => isExcepted(entry.toLowerCase(), host, hostPort)))
    return undefined;
  return proxy.includes("://") ? proxy : `http://${proxy}`;
}

function valueOf(variables: Environment, name: string): string {
  return [variables[name], variables[name.toLowerCase()]].map((value) => value?.trim()).find(Boolean) ?? "";
}

function isOwnAddress(host: string): boolean {
  return host === "localhost" || isWithin(host, "127.0.0.0/8") || isWithin(host, "::1");
}

/**
 * An entry of NO_PROXY is `*`, an address, a subnet, or a domain. A leading `.` or `*.` restricts a domain to
 * its subdomains. All except subnets may have a port.
 */
function isExcepted(entry: string, host: string, hostPort: string): boolean {
  if (entry === "*" || isWithin(host, entry)) return true;
  const [, name = "", port = hostPort] = /^\[?(.+?)\]?(?::(\d+))?$/.exec(entry) ?? [];
  if (port !== hostPort) return false;
  const domain = name.replace(/^\*\./, ".");
  return (
    host === domain || isWithin(host, name) || host.endsWith(domain.startsWith(".") ? domain : `.${domain}`)
  );
}

/** Returns whether the host is this address, or an address in this subnet, for example `10.0.0.0/8`. */
function isWithin(host: string, network: string): boolean {
  const [address = "", prefix] = network.split("/");
  const [version, hostVersion] = [isIP(address), isIP(host)];
  const bits = version === 4 ? 32 : 128;
  const length = prefix === undefined ? bits : Number.parseInt(prefix, 10);
  if (version === 0 || version !== hostVersion || !(length >= 0 && length <= bits)) return false;
  const family = version === 4 ? "ipv4" : "ipv6";
  const list = new BlockList();
  list.addSubnet(address, length, family);
  return list.check(host, family);
}
