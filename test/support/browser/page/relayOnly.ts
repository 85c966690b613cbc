// Runs inside the page under test before its scripts, inserted as text: no imports, no exports. Its
// connections use only relays, and only their addresses that contain `joypodRelay`, which another script sets
// before.

const wantedRelay = (globalThis as { joypodRelay?: string }).joypodRelay ?? "";
const UnboundConnection = RTCPeerConnection;
globalThis.RTCPeerConnection = class extends UnboundConnection {
  constructor(configuration?: RTCConfiguration) {
    super(byRelayAlone(configuration));
  }

  override setConfiguration(configuration?: RTCConfiguration): void {
    super.setConfiguration(byRelayAlone(configuration));
  }
};

function byRelayAlone({ iceServers = [], ...configuration }: RTCConfiguration = {}): RTCConfiguration {
  const relays = iceServers.map((server) => ({
    ...server,
    urls: [server.urls].flat().filter((url) => url.includes(wantedRelay)),
  }));
  return {
    ...configuration,
    iceTransportPolicy: "relay",
    iceServers: relays.filter(({ urls }) => urls.length > 0),
  };
}
