import { systemClock } from "#runtime/scheduling/clock.ts";
import { createOperatorTickets } from "#operator/streamers/askStreamer.ts";
import { platform, releaseNamespace, sessionsNamespace } from "./platform.ts";

/**
 * Returns the operator's ticket for a session's streamer, signed with the release's secret, as a cluster
 * admin could.
 */
export async function operatorTicket(sessionId: string): Promise<string> {
  const encoded = await (
    await platform()
  ).kubectl([
    "-n",
    releaseNamespace,
    "get",
    "secret",
    "joypod-operator",
    "-o",
    "jsonpath={.data.ticketSecret}",
  ]);
  const secret = Buffer.from(Buffer.from(encoded, "base64").toString(), "base64");
  return createOperatorTickets(secret, systemClock).sign(sessionId);
}

/** Returns the URL of a session's streamer inside the cluster. */
export async function streamerUrl(sessionId: string): Promise<string> {
  const { status } = await (
    await platform()
  ).gameSessions.get({ namespace: sessionsNamespace, name: sessionId });
  if (status?.podIp === undefined) throw new Error(`${sessionId} has no pod that could be asked.`);
  return `http://${status.podIp.includes(":") ? `[${status.podIp}]` : status.podIp}:8080`;
}
