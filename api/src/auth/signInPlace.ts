import { ipPrefixOf } from "../http/clientNetwork.ts";
import type { AppContext } from "../http/appContext.ts";
import { deviceOf } from "./device.ts";

/** From what and from where a sign-in is used, as players are shown it. */
export interface SignInPlace {
  /** Browser and system in words. */
  device: string;
  /** The client's network: /24 of IPv4, /48 of IPv6. */
  ipPrefix: string;
}

/** Returns where a request comes from. */
export function signInPlaceOf(ctx: AppContext): SignInPlace {
  return { device: deviceOf(ctx.get("user-agent")), ipPrefix: ipPrefixOf(ctx.ip) };
}
