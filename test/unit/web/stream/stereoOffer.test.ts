import { expect } from "chai";
import { withStereo } from "#web/stream/stereoOffer.ts";

const session = ["v=0", "a=group:BUNDLE 0 1 2"];
const video = [
  "m=video 9 UDP/TLS/RTP/SAVPF 102 103",
  "a=rtpmap:102 H264/90000",
  "a=fmtp:102 packetization-mode=1",
  "a=rtpmap:103 rtx/90000",
  "a=fmtp:103 apt=102",
];
const audio = [
  "m=audio 9 UDP/TLS/RTP/SAVPF 111 63 0",
  "a=rtpmap:111 opus/48000/2",
  "a=rtcp-fb:111 transport-cc",
];
const redundant = ["a=rtpmap:63 red/48000/2", "a=fmtp:63 111/111", "a=rtpmap:0 PCMU/8000"];
const data = ["m=application 9 UDP/DTLS/SCTP webrtc-datachannel", "a=sctp-port:5000"];

function sdpOf(...sections: string[][]): string {
  return sections
    .flat()
    .map((line) => `${line}\r\n`)
    .join("");
}

describe("withStereo", () => {
  it("adds stereo to the browser's Opus parameters and changes nothing else", () => {
    const offer = (parameters: string) =>
      sdpOf(session, video, audio, [`a=fmtp:111 ${parameters}`], redundant, data);
    expect(withStereo(offer("minptime=10;useinbandfec=1"))).to.equal(
      offer("minptime=10;useinbandfec=1;stereo=1"),
    );
  });

  it("adds stereo if the browser sets no Opus parameters", () => {
    const offer = (...parameters: string[]) =>
      sdpOf(
        session,
        ["m=audio 9 UDP/TLS/RTP/SAVPF 111", "a=rtpmap:111 OPUS/48000/2", ...parameters],
        video,
        data,
      );
    expect(withStereo(offer())).to.equal(offer("a=fmtp:111 stereo=1"));
  });

  it("leaves parameters of the same payload type in other sections unchanged", () => {
    const other = [
      "m=video 9 UDP/TLS/RTP/SAVPF 111",
      "a=rtpmap:111 H264/90000",
      "a=fmtp:111 packetization-mode=1",
    ];
    const offer = (parameters: string) =>
      sdpOf(session, other, audio, [`a=fmtp:111 ${parameters}`], redundant, other);
    expect(withStereo(offer("minptime=10"))).to.equal(offer("minptime=10;stereo=1"));
  });

  for (const parameters of [
    "maxplaybackrate=48000;stereo=1;useinbandfec=1",
    "stereo=1",
    "stereo=0;minptime=10",
  ]) {
    it(`leaves an offer that already sets stereo unchanged: ${parameters}`, () => {
      const offer = sdpOf(session, audio, [`a=fmtp:111 ${parameters}`], redundant, data);
      expect(withStereo(offer)).to.equal(offer);
    });
  }

  it("adds stereo even if the browser sets sprop-stereo, which only concerns sending", () => {
    const offer = (parameters: string) => sdpOf(session, audio, [`a=fmtp:111 ${parameters}`]);
    expect(withStereo(offer("sprop-stereo=1"))).to.equal(offer("sprop-stereo=1;stereo=1"));
  });

  it("leaves an offer without Opus unchanged", () => {
    const offer = sdpOf(session, video, ["m=audio 9 UDP/TLS/RTP/SAVPF 0", "a=rtpmap:0 PCMU/8000"], data);
    expect(withStereo(offer)).to.equal(offer);
  });
});
