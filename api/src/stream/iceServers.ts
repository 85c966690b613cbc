import { createHmac } from "node:crypto";
import type { Clock } from "#runtime/scheduling/clock.ts";
import type { IceServer, IceServersResponse } from "#contracts/http/gameSessions.ts";
import { viewerNameOf, type StreamGrant } from "../auth/streamTickets.ts";

/** Relays, and the secret that they share with the API; undefined where there are none. */
interface RelayConfig {
  relay: { urls: readonly string[]; secret: string } | undefined;
  lifetimeSeconds: number;
}

/** What making credentials of the relay needs. */
export interface IceServersDeps {
  config: { turn: RelayConfig };
  clock: Pick<Clock, "now">;
}

/**
 * Returns the relays with credentials of this name, as the "REST API for access to TURN services" describes
 * them; none where there is no relay.
 */
export function iceServersFor({ config: { turn }, clock }: IceServersDeps, name: string): IceServersResponse {
  if (turn.relay === undefined) return { iceServers: [], expiresInSeconds: turn.lifetimeSeconds };
  const { urls, secret } = turn.relay;
  const username = `${Math.floor(clock.now().getTime() / 1_000) + turn.lifetimeSeconds}:${name}`;
  const credential = createHmac("sha1", secret).update(username).digest("base64");
  return { iceServers: [{ urls: [...urls], username, credential }], expiresInSeconds: turn.lifetimeSeconds };
}

/** The same for a viewer: relays count by names. */
export function iceServersOfViewer(
  deps: IceServersDeps,
  viewer: Pick<StreamGrant, "userId" | "role">,
): IceServersResponse {
  return iceServersFor(deps, viewerNameOf(viewer));
}

/**
 * Returns the relays as WHEP tells them: one value of the header `Link` for each address; undefined without
 * any.
 */
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
