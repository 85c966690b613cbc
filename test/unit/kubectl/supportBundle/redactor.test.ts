import { expect } from "chai";
import { Redactor } from "#kubectl/supportBundle/redactor.ts";

const redactor = new Redactor({
  secrets: ["s3cr3t/of the store", "short"],
  ownAddresses: new Set(["10.244.1.7", "fd00::7"]),
  players: ["cm3qk1x2v0000"],
});

describe("Redactor", () => {
  it("redacts known secrets in any encoding", () => {
    const secret = "s3cr3t/of the store";
    for (const spelled of [secret, Buffer.from(secret).toString("base64"), encodeURIComponent(secret)]) {
      expect(redactor.text(`before ${spelled} after`)).to.equal("before [redacted: secret] after");
    }
    expect(redactor.text("a short word"), "no word that is shorter than a secret").to.equal("a short word");
  });

  for (const [what, text] of Object.entries({
    "e-mails": "ada.l+games@example.co.uk",
    tickets: "eyJhbGciOiJFZERTQSJ9.eyJhdWQiOiJncy0xIn0.c2lnbmF0dXJl",
    "partners' keys": `joypod_live_${"a".repeat(16)}_${"b".repeat(46)}`,
    "bearer credentials": "Bearer abcdefgh12345678",
    "passwords in addresses": "postgres://joypod:hunter22@db:5432/joypod",
    "private keys": "-----BEGIN PRIVATE KEY-----\nMIIB\n-----END PRIVATE KEY-----",
    cookies: "auth.session-token=abcdef123456",
    "players' addresses": "203.0.113.9",
    "players' addresses of IPv6": "2001:db8::17",
    "long addresses of IPv6": "2001:db8:1:2:3:4:5:6",
    "addresses within names": "203.0.113.9.dyn.provider7.example",
    "players' ids": "cm3qk1x2v0000",
  })) {
    it(`redacts ${what}`, () => {
      const redacted = redactor.text(`{"msg":"It said ${text}."}`);
      expect(redacted)
        .to.match(/redacted|player-/)
        .and.match(/^\{"msg":"It said .*"\}$/s);
      const [longest = ""] = text.split(/[\s:@/]+/).toSorted((a, b) => b.length - a.length);
      expect(redacted).to.not.include(
        longest === "PRIVATE" ? "MIIB" : longest === "postgres" ? "hunter22" : longest,
      );
    });
  }

  it("keeps the cluster's addresses, digests, times, versions and names", () => {
    const text = `gs-7k2m9q4x1v8c at 10.244.1.7 and fd00::7, 127.0.0.1:8080, ${"0123456789abcdef".repeat(4)}, 2026-11-23T04:05:06.789Z, 2026-11-23 04:05:06.789 UTC, v1.35.4, 1.2.3.400, joypod-api-d8966f8d9-5hgk5`;
    expect(redactor.text(text)).to.equal(text);
  });

  it("redacts fields and variables by name, and keeps the names of Secrets", () => {
    const redacted = redactor.value({
      s3: { existingSecret: "joypod-s3", secretKey: "abc" },
      password: "p",
      signingKeys: ["abcdef:1"],
      imagePullSecrets: ["registry"],
      env: [
        { name: "PASSWORD_PEPPER", value: "pepper" },
        { name: "LOG_LEVEL", value: "info" },
        { name: "X", valueFrom: { secretKeyRef: { name: "joypod-api", key: "url" } } },
      ],
      metadata: {
        managedFields: [{}],
        annotations: { "kubectl.kubernetes.io/last-applied-configuration": "{}" },
      },
    });
    expect(redacted).to.deep.equal({
      s3: { existingSecret: "joypod-s3", secretKey: "[redacted]" },
      password: "[redacted]",
      signingKeys: "[redacted]",
      imagePullSecrets: ["registry"],
      env: [
        { name: "PASSWORD_PEPPER", value: "[redacted]" },
        { name: "LOG_LEVEL", value: "info" },
        { name: "X", valueFrom: { secretKeyRef: { name: "joypod-api", key: "url" } } },
      ],
      metadata: { annotations: {} },
    });
  });

  it("uses the same pseudonym for a player everywhere", () => {
    const [first, second] = [redactor.text("cm3qk1x2v0000"), redactor.text("player cm3qk1x2v0000 again")];
    expect(second).to.equal(`player ${first} again`);
  });

  it("finds ids inside other words, next to other ids, and at the start of longer ones", () => {
    const players = [
      "cm3qk1x2v0000",
      "cm3qk1x2v0000-b",
      "f3b0c1d2-1111-4222-8333-944455556666",
      "abcabd",
      "with.dots/0001",
      "tiny",
    ];
    const known = new Redactor({ secrets: [], ownAddresses: new Set(), players });
    const [first, longer, uuid, short, dotted] = players.slice(0, 5).map((id) => known.text(id));
    expect(new Set([first, longer, uuid, short, dotted]).size).to.equal(5);
    for (const name of [first, longer, uuid, short, dotted]) expect(name).to.match(/^player-[0-9a-f]{8}$/);
    for (const [text, redacted] of [
      ["user_cm3qk1x2v0000", `user_${first}`],
      ["cm3qk1x2v0000_x", `${first}_x`],
      ["xcm3qk1x2v0000x", `x${first}x`],
      ["cm3qk1x2v0000cm3qk1x2v0000-b", `${first}${longer}`],
      ["saves/f3b0c1d2-1111-4222-8333-944455556666-1.tar.gz", `saves/${uuid}-1.tar.gz`],
      ["abcabcabd", `abc${short}`],
      ["abcababcabd-abcab", `abcab${short}-abcab`],
      ["a with.dots/0001b", `a ${dotted}b`],
      ["Ärabcabdß", `Är${short}ß`],
      ["cm3qk1x2v000", "cm3qk1x2v000"],
      ["tiny words", "tiny words"],
    ] as const)
      expect(known.text(text), text).to.equal(redacted);
  });

  it("takes the same time for any number of players", () => {
    const players = Array.from(
      { length: 20_000 },
      (_, at) => `f3b0c1d2-1111-4222-8333-${String(at).padStart(12, "0")}`,
    );
    const known = new Redactor({ secrets: [], ownAddresses: new Set(), players });
    for (const id of players) {
      const redacted = known.text(
        `{"level":"info","msg":"The session of ${id} is ready.","gameSession":"gs-7k2m9q4x1v8c","key":"saves/${id}/1"}`,
      );
      expect(redacted.includes("f3b0c1d2-1111"), redacted).to.equal(false);
    }
  });

  it("also redacts unknown players in the user fields of logs", () => {
    const line = (id: string): string =>
      `{"level":"debug","msg":"A request was served.","user":"${id}","userId":"${id}","route":"/api/games"}`;
    const redacted = redactor.text(line("cm9zz9zz9z9999"));
    expect(redacted).to.not.include("cm9zz9zz9z9999");
    expect(redacted).to.match(/"user":"(player-[0-9a-f]{8})","userId":"\1"/);
    expect(redactor.text(redacted), "once").to.equal(redacted);
    const unrecorded = redactor.text(
      '{"msg":"An event was not recorded.","event":{"actor":{"kind":"user","id":"cm9zz9zz9z9999"},"subject":{"kind":"user","id":"cm9zz9zz9z9999"}}}',
    );
    expect(unrecorded).to.match(
      /"actor":\{"kind":"user","id":"(player-[0-9a-f]{8})"\},"subject":\{"kind":"user","id":"\1"\}/,
    );
    expect(redactor.text(line("cm3qk1x2v0000"))).to.include(`"user":"${redactor.text("cm3qk1x2v0000")}"`);
  });
});
