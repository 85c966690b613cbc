import { createHmac } from "node:crypto";
import type { Clock } from "#runtime/scheduling/clock.ts";
import type { IceServer, IceServersResponse } from "#contracts/http/iceServers.ts";
import { viewerNameOf, type StreamGrant } from "../auth/streamTickets.ts";

/** Relays and the secret that they share with the API; undefined without relays. */
interface RelayConfig {
  relay: { urls: readonly string[]; secret: string } | undefined;
  lifetimeSeconds: number;
}

/** What relay credentials are computed from. */
export interface IceServersDeps {
  config: { turn: RelayConfig };
  clock: Pick<Clock, "now">;
}

/**
 * Returns the relays with credentials for `name`, as specified by "A REST API for access to TURN services";
 * an empty list without relays.
 */
export function iceServersFor({ config: { turn }, clock }: IceServersDeps, name: string): IceServersResponse {
  if (turn.relay === undefined) return { iceServers: [], expiresInSeconds: turn.lifetimeSeconds };
  const { urls, secret } = turn.relay;
  const username = `${Math.floor(clock.now().getTime() / 1_000) + turn.lifetimeSeconds}:${name}`;
  const credential = createHmac("sha1", secret).update(username).digest("base64");
  return { iceServers: [{ urls: [...urls], username, credential }], expiresInSeconds: turn.lifetimeSeconds };
}

/** Returns the relays with a viewer's credentials. Relays count usage by name. */
export function iceServersOfViewer(
  deps: IceServersDeps,
  viewer: Pick<StreamGrant, "userId" | "role">,
): IceServersResponse {
  return iceServersFor(deps, viewerNameOf(viewer));
}

/** Returns the relays as a WHEP `Link` header with one value per address; undefined without any. */
export function linkOf(iceServers: readonly IceServer[]): string | undefined {
  const links = iceServers.flatMap(({ urls, username, credential }) =>
    urls.map((url) => {
      const login =
        username === undefined || credential === undefined
          ? ""
          : `; username="${username}"; credential="${credential}"; credential-type="password"`;
      return `<${url}>; rel="ice-server"${login}`;
    }),
  );
  return links.length === 0 ? undefined : links.join(", ");
}
