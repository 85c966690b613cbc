import { expect } from "chai";
import { RegisterGameRequest } from "#contracts/http/partners.ts";
import { GamesQuery } from "#contracts/http/catalog.ts";
import { LaunchRequest } from "#contracts/http/gameSessions.ts";
import { httpsUrl, line, paragraphs, slug } from "#contracts/http/text.ts";

describe("HTTP text schemas", () => {
  it("accepts one line in any script, without characters that logs, headers and Postgres cannot hold", () => {
    for (const good of ["", "Ünïcødé 漢字 🎮", "tags & <b>"])
      expect(line(40).safeParse(good).success, good).to.be.true;
    for (const bad of [
      "a\nb",
      "a\r",
      "\t",
      "\u0000",
      "\u007f",
      "\u0085",
      "\u2028",
      "\ud800",
      "x".repeat(41),
    ]) {
      expect(line(40).safeParse(bad).success, JSON.stringify(bad)).to.be.false;
    }
    expect(paragraphs(40).safeParse("a\nb\tc").success).to.be.true;
    expect(paragraphs(40).safeParse("a\u0000").success).to.be.false;
  });

  it("accepts slugs that can name Kubernetes objects", () => {
    for (const good of ["ab", "a-b", "9lives", "a".repeat(63)])
      expect(slug.safeParse(good).success, good).to.be.true;
    for (const bad of ["", "a", "-ab", "ab-", "Ab", "a_b", "a.b", "a/b", "ä1", "a".repeat(64), "ab\n"])
      expect(slug.safeParse(bad).success, bad).to.be.false;
  });

  it("accepts https addresses without credentials", () => {
    for (const good of ["https://a.test/x.png", "https://a.test:8443/?q=1#f", "HTTPS://A.TEST"])
      expect(httpsUrl.safeParse(good).success, good).to.be.true;
    for (const bad of [
      "http://a.test/",
      "javascript:alert(1)",
      "data:image/png;base64,x",
      "https://u:p@a.test/",
      "https://u@a.test/",
      "//a.test/",
      "https:a.test",
      "https:\\\\a.test",
      "https://a.test/ x",
      "https://",
      "",
      `https://a.test/${"x".repeat(2048)}`,
    ])
      expect(httpsUrl.safeParse(bad).success, bad).to.be.false;
  });
});

describe("requests of the HTTP interface", () => {
  const game = { title: " Title ", developer: "Dev", launcher: "run.sh", engineDir: "engine" };

  it("are trimmed, and rejected with fields that the caller must not set", () => {
    expect(RegisterGameRequest.parse(game).title).to.equal("Title");
    for (const extra of [
      { id: "x" },
      { status: "active" },
      { partnerId: "x" },
      { createdAt: "2026-01-01" },
    ]) {
      expect(RegisterGameRequest.safeParse({ ...game, ...extra }).success).to.be.false;
    }
    expect(
      RegisterGameRequest.safeParse(JSON.parse(JSON.stringify(game).replace("{", '{"__proto__":{},')))
        .success,
    ).to.be.false;
  });

  it("have limits for lists and names", () => {
    const cases: Record<string, unknown>[] = [
      { title: " " },
      { title: "x".repeat(121) },
      { launcher: "../run" },
      { launcher: ".hidden" },
      { launcher: "-rf" },
      { launcher: "a/b" },
      { engineDir: "" },
      { tags: Array<string>(21).fill("a") },
      { tags: ["x".repeat(33)] },
      { tags: [""] },
      { screenshots: Array<string>(11).fill("https://a.test/") },
      { languages: ["english!"] },
      { releaseDate: "2026-02-30" },
      { releaseDate: "01.02.2026" },
      { description: "x".repeat(5001) },
      { slug: "Bad Slug" },
    ];
    for (const change of cases)
      expect(
        RegisterGameRequest.safeParse({ ...game, ...change }).success,
        JSON.stringify(change).slice(0, 60),
      ).to.be.false;
    expect(
      RegisterGameRequest.safeParse({
        ...game,
        tags: Array<string>(20).fill("a"),
        languages: ["en", "zh-Hant-TW"],
        releaseDate: "2024-02-29",
      }).success,
    ).to.be.true;
  });

  it("cannot both continue a slot and start from scratch", () => {
    expect(LaunchRequest.safeParse({ gameSlug: "a", fresh: true, saveSlotId: "s" }).success).to.be.false;
    for (const good of [{}, { fresh: true }, { saveSlotId: "s" }, { fresh: false, saveSlotId: "s" }]) {
      expect(LaunchRequest.safeParse({ gameSlug: "a", ...good }).success).to.be.true;
    }
  });

  it("accept page numbers in plain digits and lower large page sizes", () => {
    expect(GamesQuery.parse({})).to.deep.equal({ page: 1, limit: 20, sort: "title", order: "asc" });
    expect(GamesQuery.parse({ page: "007", limit: "500", search: " x " })).to.include({
      page: 7,
      limit: 50,
      search: "x",
    });
  });
});
