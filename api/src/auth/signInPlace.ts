import { ipPrefixOf } from "../http/clientNetwork.ts";
import type { AppContext } from "../http/appContext.ts";

/** Device and network of a sign-in, as players see them. */
export interface SignInPlace {
  /** Browser and operating system. */
  device: string;
  /** The client's network: /24 of IPv4, /48 of IPv6. */
  ipPrefix: string;
}

/** Returns the device and the network of a request. */
export function signInPlaceOf(ctx: AppContext): SignInPlace {
  return { device: deviceOf(ctx.get("user-agent")), ipPrefix: ipPrefixOf(ctx.ip) };
}

/** User-Agent patterns, most specific first, because most browsers also name those that they imitate. */
const browsers: readonly [pattern: RegExp, name: string][] = [
  [/\bEdg(?:e|A|iOS)?\//, "Edge"],
  [/\b(?:OPR|OPiOS|OPT)\//, "Opera"],
  [/\bSamsungBrowser\//, "Samsung Internet"],
  [/\bVivaldi\//, "Vivaldi"],
  [/\b(?:Firefox|FxiOS)\//, "Firefox"],
  [/(?:\bChrome|\bCriOS|HeadlessChrome|\bChromium)\//, "Chrome"],
  [/\bVersion\/[\d.]+ .*\bSafari\//, "Safari"],
];

const systems: readonly [pattern: RegExp, name: string][] = [
  [/\biPhone\b/, "iPhone"],
  [/\biPad\b/, "iPad"],
  [/\bAndroid\b/, "Android"],
  [/\bWindows\b/, "Windows"],
  [/\bCrOS\b/, "ChromeOS"],
  [/\bMac(?:intosh| OS X)\b/, "macOS"],
  [/\b(?:Linux|X11)\b/, "Linux"],
];

/** Maximum number of characters that are parsed of a User-Agent. */
const lengthRead = 512;

/**
 * Returns a description such as "Firefox on Linux", by which players recognize their devices. It is not used
 * for decisions, because User-Agents can be forged. Versions are omitted because they change during a
 * sign-in.
 */
export function deviceOf(userAgent: string): string {
  const text = userAgent.slice(0, lengthRead);
  const nameIn = (list: readonly [RegExp, string][]): string | undefined =>
    list.find(([pattern]) => pattern.test(text))?.[1];
  const [browser, system] = [nameIn(browsers), nameIn(systems)];
  if (browser === undefined && system === undefined) return "Unknown device";
  return `${browser ?? "Unknown browser"}${system === undefined ? "" : ` on ${system}`}`;
}
