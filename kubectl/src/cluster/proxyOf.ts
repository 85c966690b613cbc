import { BlockList, isIP } from "node:net";
import { listed, type Environment } from "#runtime/program/readEnvironment.ts";

/**
 * Returns the proxy by which kubectl reaches this server where the kubeconfig names none: that of
 * HTTPS_PROXY, or HTTP_PROXY for http addresses, unless NO_PROXY has the server. Undefined for none, as for
 * this machine's own addresses.
 */
export function proxyOf(server: string, variables: Environment): string | undefined {
  if (!URL.canParse(server)) return undefined; // The first request says so.
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
 * An entry of NO_PROXY is `*`, an address, a subnet, or a domain, which `.` or `*.` before it restricts to
 * those below; a port may follow all but the subnet.
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

/** Returns whether the host is an address that is this one, or in this subnet, as in `10.0.0.0/8`. */
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
