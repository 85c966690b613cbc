import { expect } from "chai";
import {
  formatCountdown,
  formatDate,
  formatDuration,
  formatMoment,
  formatTimeAgo,
  formatSize,
  formatLanguages,
} from "#web/components/format.ts";

describe("formatLanguages", () => {
  it("returns the names of language tags, and malformed tags unchanged", () => {
    expect(formatLanguages(["en", "pt-BR", "not a tag"])).to.equal(
      "English, Brazilian Portuguese, not a tag",
    );
  });
});

describe("formatSize", () => {
  it("returns sizes in human-readable units", () => {
    expect([0, 1, 1024, 1025, 47_300].map(formatSize)).to.deep.equal([
      "0 KB",
      "1 KB",
      "1 KB",
      "2 KB",
      "47 KB",
    ]);
    expect([2 ** 20, 1.25 * 2 ** 20, 16 * 2 ** 20, 2 ** 30].map(formatSize)).to.deep.equal([
      "1 MB",
      "1.3 MB",
      "16 MB",
      "1024 MB",
    ]);
  });
});

describe("timeText", () => {
  it("returns how long ago a moment was", () => {
    const now = Date.parse("2026-03-10T12:00:00.000Z");
    const ago = (moment: string): string => formatTimeAgo(moment, now);
    expect(ago("2026-03-10T11:59:30.000Z")).to.equal("just now");
    expect(ago("2026-03-10T11:58:00.000Z")).to.equal("2 minutes ago");
    expect(ago("2026-03-10T09:30:00.000Z")).to.equal("2 hours ago");
    expect(ago("2026-03-09T11:00:00.000Z")).to.equal("1 day ago");
    expect(ago("2025-12-24T12:00:00.000Z")).to.equal("December 24, 2025");
    expect(ago("2026-03-10T12:00:05.000Z"), "a clock ahead of ours").to.equal("just now");
  });

  it("returns a moment in the player's time zone", () => {
    expect(formatMoment(new Date(2026, 2, 10, 21, 4).toISOString())).to.equal("Mar 10, 2026, 21:04");
    expect(formatMoment(new Date(2026, 2, 10, 0, 4).toISOString()), "midnight").to.equal(
      "Mar 10, 2026, 00:04",
    );
  });

  it("returns durations and countdowns", () => {
    expect([3.4, 63, 3_720].map(formatDuration)).to.deep.equal(["3 s", "1 min 3 s", "1 h 2 min"]);
    expect([245_000, 4_100, -5].map(formatCountdown)).to.deep.equal(["4:05", "0:05", "0:00"]);
  });

  it("returns a date, or empty text for an invalid date", () => {
    expect(formatDate("2015-03-17")).to.equal("March 17, 2015");
    expect(formatDate("")).to.equal("");
  });
});
