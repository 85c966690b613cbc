import { expect } from "chai";
import type { PathResult, TestResult } from "#web/connectionTest/testResult.ts";
import { formatBitrate, formatPercent, judgeConnection, type Verdict } from "#web/connectionTest/verdict.ts";

const good = { roundTripMs: 18, loss: 0.001, bandwidthKbps: 11_800, limitKbps: 12_000 };
const works = (figures: Partial<typeof good> = {}): PathResult => ({
  state: "works",
  figures: { ...good, ...figures },
});
const blocked: PathResult = { state: "blocked" };
const absent: PathResult = { state: "absent" };
const untested: PathResult = { state: "untested" };

function aResult(parts: Partial<TestResult> = {}): TestResult {
  return {
    testedAt: "2030-01-01T00:00:00Z",
    network: "wifi",
    direct: works(),
    relay: works(),
    decoders: [{ codec: "h264", isHardware: true }],
    ...parts,
  };
}

describe("judgeConnection", () => {
  const software: TestResult["decoders"] = [{ codec: "h264", isHardware: false }];
  const cases: [
    what: string,
    parts: Partial<TestResult>,
    tone: Verdict["tone"],
    sentence: string,
    advice: string,
  ][] = [
    ["that is good", {}, "good", "Games will play well here", "nothing to change"],
    [
      "that is good without a relay",
      { relay: absent },
      "good",
      "Games will play well here",
      "nothing to change",
    ],
    [
      "that is good, whose relay was not tested",
      { relay: untested },
      "good",
      "Games will play well here",
      "nothing to change",
    ],
    [
      "whose browser does not say how it decodes",
      { decoders: [{ codec: "vp8", isHardware: null }] },
      "good",
      "Games will play well here",
      "nothing to change",
    ],
    [
      "whose direct path is blocked",
      { direct: blocked },
      "fair",
      "through a relay, because this network blocks direct UDP connections",
      "allow UDP in your firewall or VPN",
    ],
    [
      "that is completely blocked",
      { direct: blocked, relay: blocked },
      "bad",
      "will not play here: this network blocks connections to the game servers, directly and through the relay",
      "Use another network",
    ],
    [
      "that is blocked where there is no relay",
      { direct: blocked, relay: absent },
      "bad",
      "this Joypod has no relay",
      "Use another network",
    ],
    [
      "that loses packets",
      { direct: works({ loss: 0.05, bandwidthKbps: 900 }) },
      "fair",
      "but 5 % of the packets get lost",
      "Connect by cable",
    ],
    [
      "that loses packets through the relay",
      { direct: blocked, relay: works({ loss: 0.12 }) },
      "fair",
      "play through a relay, but 12 % of the packets get lost",
      "Connect by cable",
    ],
    [
      "with low bandwidth",
      { direct: works({ bandwidthKbps: 1_840 }) },
      "fair",
      "with a less sharp picture: your connection carries 1.8 Mbit/s",
      "Pause downloads",
    ],
    [
      "with a long round trip",
      { direct: works({ roundTripMs: 180.4 }) },
      "fair",
      "a round trip to the game server takes 180 ms",
      "Switch off your VPN",
    ],
    [
      "whose browser decodes in software",
      { decoders: software },
      "fair",
      "decodes the picture in software",
      "Turn on hardware acceleration",
    ],
    [
      "whose browser only decodes rare codecs in hardware",
      { decoders: [{ codec: "av1", isHardware: true }, ...software] },
      "fair",
      "decodes the picture in software",
      "Turn on hardware acceleration",
    ],
    [
      "whose browser decodes none of the codecs",
      { decoders: [] },
      "bad",
      "cannot decode the picture",
      "Use a current Chrome",
    ],
    [
      "with low bandwidth whose browser also decodes in software",
      { direct: works({ bandwidthKbps: 1_000 }), decoders: software },
      "fair",
      "carries 1 Mbit/s",
      "Pause downloads",
    ],
  ];
  for (const [what, parts, tone, sentence, advice] of cases) {
    it(`returns a verdict and advice for a connection ${what}`, () => {
      const verdict = judgeConnection(aResult(parts));
      expect(verdict.tone).to.equal(tone);
      expect(verdict.sentence).to.contain(sentence);
      expect(verdict.advice).to.contain(advice);
    });
  }

  it("formats figures in human-readable units", () => {
    expect([0, 0.0049, 0.02, 0.123].map(formatPercent)).to.deep.equal(["0 %", "0.5 %", "2 %", "12 %"]);
    expect([640, 1_000, 1_849, 12_000].map(formatBitrate)).to.deep.equal([
      "640 kbit/s",
      "1 Mbit/s",
      "1.8 Mbit/s",
      "12 Mbit/s",
    ]);
  });
});
