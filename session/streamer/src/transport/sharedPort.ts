import nodeDataChannel, { type PeerConnection } from "node-datachannel";

const gatheringDeadlineMs = 1_000;

/**
 * Keeps the UDP port bound until the returned function is called. Otherwise the port is free between two
 * viewers, and if another program binds it, the transport terminates the process instead of throwing.
 */
export function reservePort(udpPort: number): () => void {
  const reservation = new nodeDataChannel.PeerConnection("port-reservation", connectionOptions(udpPort));
  const channel = reservation.createDataChannel("port-reservation");
  reservation.setLocalDescription("offer");
  return () => {
    channel.close();
    reservation.close();
  };
}

/** Returns the options of a connection on the shared UDP port. */
export function connectionOptions(udpPort: number) {
  return {
    iceServers: [],
    disableAutoNegotiation: true,
    enableIceUdpMux: true,
    portRangeBegin: udpPort,
    portRangeEnd: udpPort,
  };
}

/**
 * Accepts the offer and returns the SDP answer with the candidates gathered in time.
 *
 * @throws Error from the transport.
 */
export async function gatherSdpAnswer(connection: PeerConnection, offer: string): Promise<string> {
  connection.setRemoteDescription(offer, "offer");
  const gathered = new Promise<void>((resolve) => {
    connection.onGatheringStateChange((state) => {
      if (state === "complete") resolve();
    });
    setTimeout(resolve, gatheringDeadlineMs).unref();
  });
  connection.setLocalDescription("answer");
  await gathered;
  const local = connection.localDescription();
  if (!local) throw new Error("the transport returned no answer");
  return local.sdp;
}
