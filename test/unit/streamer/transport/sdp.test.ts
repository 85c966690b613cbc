import { expect } from "chai";
import { DomainError } from "#streamer/errors.ts";
import { announceAddresses, parseOffer } from "#streamer/transport/sdp.ts";

const chromium = `v=0
o=- 4611731400430051336 2 IN IP4 127.0.0.1
s=-
t=0 0
a=group:BUNDLE 0 1 2
a=extmap-allow-mixed
m=video 9 UDP/TLS/RTP/SAVPF 96 97 103 107 108
c=IN IP4 0.0.0.0
a=candidate:1 1 udp 2113937151 5f2c3b9e-1c1e-4d6e-9a51-0a9d6a0f7b11.local 50001 typ host
a=ice-ufrag:abcd
a=ice-pwd:abcdefghijklmnopqrstuvwx
a=fingerprint:sha-256 AA:BB
a=mid:0
a=extmap:1 urn:ietf:params:rtp-hdrext:toffset
a=extmap:4 http://www.ietf.org/id/draft-holmer-rmcat-transport-wide-cc-extensions-01
a=extmap:5/recvonly http://www.webrtc.org/experiments/rtp-hdrext/playout-delay
a=extmap:15 http://www.webrtc.org/experiments/rtp-hdrext/playout-delay
a=rtpmap:96 VP8/90000
a=rtpmap:97 rtx/90000
a=rtpmap:103 H264/90000
a=fmtp:103 level-asymmetry-allowed=1;packetization-mode=1;profile-level-id=42001f
a=rtpmap:107 H264/90000
a=fmtp:107 level-asymmetry-allowed=1;packetization-mode=0;profile-level-id=42e01f
a=rtpmap:108 H264/90000
a=fmtp:108 level-asymmetry-allowed=1;packetization-mode=1;profile-level-id=42e01f
m=audio 9 UDP/TLS/RTP/SAVPF 111 63
a=mid:1
a=rtpmap:111 opus/48000/2
a=rtpmap:63 red/48000/2
a=fmtp:63 111/111
m=application 9 UDP/DTLS/SCTP webrtc-datachannel
a=mid:2
`.replaceAll("\n", "\r\n");

describe("parseOffer", () => {
  it("returns supported codecs, header extensions and audio", () => {
    const { video, audio } = parseOffer(chromium);
    expect(video).to.deep.equal({
      mid: "0",
      extensions: { transportSequence: 4, playoutDelay: 5 },
      codecs: [
        {
          codec: "h264",
          payloadType: 108,
          parameters: "level-asymmetry-allowed=1;packetization-mode=1;profile-level-id=42e01f",
        },
        { codec: "vp8", payloadType: 96, parameters: "" },
      ],
    });
    expect(audio).to.deep.equal({ mid: "1", extensions: {}, payloadType: 111, redundantPayloadType: 63 });
  });

  it("accepts H.265 and AV1 in the main profile, which is the default", () => {
    const codecsOf = (...formats: string[]) =>
      parseOffer(
        chromium.replace("a=rtpmap:97 rtx/90000\r\n", formats.map((format) => `${format}\r\n`).join("")),
      ).video.codecs.map(({ codec, payloadType }) => `${codec} ${payloadType}`);
    const both = [
      "a=rtpmap:49 H265/90000",
      "a=fmtp:49 level-id=180;profile-id=2;tier-flag=0;tx-mode=SRST",
      "a=rtpmap:50 H265/90000",
      "a=fmtp:50 level-id=180;profile-id=1;tier-flag=0;tx-mode=SRST",
      "a=rtpmap:45 AV1/90000",
      "a=fmtp:45 level-idx=5;profile=1;tier=0",
      "a=rtpmap:46 AV1/90000",
      "a=fmtp:46 level-idx=5;profile=0;tier=0",
    ];
    expect(codecsOf(...both)).to.deep.equal(["h264 108", "h265 50", "av1 46", "vp8 96"]);
    expect(codecsOf("a=rtpmap:49 H265/90000", "a=rtpmap:45 AV1/90000")).to.deep.equal([
      "h264 108",
      "h265 49",
      "av1 45",
      "vp8 96",
    ]);
    expect(codecsOf("a=rtpmap:49 H265/90000", "a=fmtp:49 profile-id=1;tx-mode=MRST")).to.deep.equal([
      "h264 108",
      "vp8 96",
    ]);
  });

  it("ignores redundant audio that does not wrap the offered Opus", () => {
    const redundantOf = (offer: string) => parseOffer(offer).audio?.redundantPayloadType;
    expect(redundantOf(chromium.replace("a=rtpmap:63 red/48000/2\r\n", ""))).to.equal(undefined);
    expect(redundantOf(chromium.replace("111/111", "9/9"))).to.equal(undefined);
    expect(redundantOf(chromium.replace("a=fmtp:63 111/111\r\n", ""))).to.equal(undefined);
  });

  it("removes the browser's candidates", () => {
    expect(parseOffer(chromium).sdp).not.to.contain("candidate:");
    expect(
      parseOffer(chromium.replace("m=audio", "a= candidate:1 1 UDP 1 192.0.2.1 53 typ host\r\nm=audio")).sdp,
    ).not.to.contain("candidate:");
  });

  it("rejects a lone carriage return, which could smuggle a candidate past the filter", () => {
    const smuggled = chromium.replace("m=audio", "a=\rcandidate:1 1 UDP 1 192.0.2.1 53 typ host\r\nm=audio");
    expect(() => parseOffer(smuggled))
      .to.throw(DomainError, "not a session description")
      .with.property("code", "invalid_offer");
  });

  it("accepts Opus without a number of channels", () => {
    expect(parseOffer(chromium.replace("opus/48000/2", "OPUS/48000")).audio?.payloadType).to.equal(111);
  });

  it("accepts an offer without audio", () => {
    expect(parseOffer(chromium.replace("m=audio", "m=text")).audio).to.equal(undefined);
  });

  for (const [what, from, to] of [
    ["a body that is not a session description", "v=0", "hello"],
    ["control characters", "s=-", "s=\u0007"],
    ["an offer without an ICE password", "a=ice-pwd", "a=x"],
    ["an offer without video", "m=video", "m=text"],
    ["an offer with two videos", "m=audio", "m=video"],
    ["a mid that is not a token", "a=mid:0", "a=mid:0 injected"],
    ["audio without Opus", "opus/48000/2", "PCMU/8000"],
  ] as const) {
    it(`rejects ${what}`, () => {
      expect(() => parseOffer(chromium.replace(from, to)))
        .to.throw(DomainError)
        .with.property("code", "invalid_offer");
    });
  }
});

describe("announceAddresses", () => {
  it("adds a candidate for each address to the first media section, in order", () => {
    const gathered = [
      "v=0",
      "m=video 9 x",
      "a=mid:0",
      "a=candidate:1 1 UDP 1 10.0.0.1 5 typ host",
      "a=end-of-candidates",
      "m=audio 9 x",
      "a=mid:1",
      "",
    ].join("\r\n");
    expect(announceAddresses(gathered, ["203.0.113.9", "2001:db8::9"], 30_001).split("\r\n")).to.deep.equal([
      "v=0",
      "m=video 9 x",
      "a=mid:0",
      "a=candidate:1 1 UDP 2122317823 203.0.113.9 30001 typ host",
      "a=candidate:2 1 UDP 2122317567 2001:db8::9 30001 typ host",
      "a=end-of-candidates",
      "m=audio 9 x",
      "a=mid:1",
      "",
    ]);
  });

  it("adds the candidate to the only media section", () => {
    expect(announceAddresses("v=0\r\nm=video 9 x\r\n", ["2001:db8::1"], 7)).to.match(
      /m=video 9 x\r\na=candidate:.* 2001:db8::1 7 typ host\r\na=end-of-candidates\r\n$/,
    );
  });
});
