// Runs inside a page, inserted as text after the WHEP client of the npm package whip-whep: no imports, no
// exports.

interface WhepClient {
  view(connection: RTCPeerConnection, url: string, token: string): Promise<void>;
  stop(): Promise<void>;
}
declare const WHEPClient: new () => WhepClient;

interface WhepPlayback {
  client: WhepClient;
  channel: RTCDataChannel;
}

let playback: WhepPlayback | undefined;

/** Shows the stream in the page's only video. Resolves with the first frame. */
async function whepView(url: string, ticket: string): Promise<void> {
  const connection = new RTCPeerConnection();
  for (const kind of ["video", "audio"]) connection.addTransceiver(kind, { direction: "recvonly" });
  const stream = new MediaStream();
  const video = document.createElement("video");
  Object.assign(video, { autoplay: true, muted: true, srcObject: stream });
  document.body.replaceChildren(video);
  connection.ontrack = ({ track }) => stream.addTrack(track);
  playback = { client: new WHEPClient(), channel: connection.createDataChannel("input", { ordered: true }) };
  const { channel, client } = playback;
  const opened = new Promise((resolve) => channel.addEventListener("open", resolve));
  const shown = new Promise((resolve) => video.requestVideoFrameCallback(resolve));
  await client.view(connection, url, ticket);
  await Promise.all([opened, shown]);
}

Object.assign(globalThis, {
  whepPlayer: {
    view: whepView,
    send: (message: object) => playback?.channel.send(JSON.stringify(message)),
    stop: () => playback?.client.stop(),
  },
});
