import { expect } from "chai";
import { KeepaliveSchedule } from "#web/play/keepaliveSchedule.ts";

const pauseMs = 60_000;

describe("KeepaliveSchedule", () => {
  let endPause: () => void;
  let schedule: KeepaliveSchedule;
  let sent: number;
  let stop: () => void;

  beforeEach(() => {
    endPause = () => undefined;
    sent = 0;
    schedule = new KeepaliveSchedule((ms, callback) => {
      expect(ms).to.equal(pauseMs);
      endPause = callback;
      return () => {
        endPause = () => undefined;
      };
    });
    stop = schedule.start(() => {
      sent++;
      schedule.sending();
    });
    schedule.kept(pauseMs);
  });

  it("sends nothing without input", () => {
    endPause();
    expect(sent).to.equal(0);
  });

  it("sends one keepalive per pause for any amount of input", () => {
    for (let second = 0; second < 60; second++) schedule.noteInput();
    expect(sent).to.equal(0);
    endPause();
    expect(sent).to.equal(1);
    schedule.kept(pauseMs);
    endPause();
    expect(sent, "without input since").to.equal(1);
  });

  it("sends at once when somebody plays after a longer pause", () => {
    endPause();
    schedule.noteInput();
    expect(sent).to.equal(1);
    schedule.noteInput();
    expect(sent, "while the first is on its way").to.equal(1);
  });

  it("remembers the input of a keepalive that failed", () => {
    endPause();
    schedule.noteInput();
    expect(schedule.hasInput).to.equal(false);
    schedule.failed();
    expect(schedule.hasInput).to.equal(true);
  });

  it("sends nothing after its end", () => {
    stop();
    schedule.noteInput();
    endPause();
    expect(sent).to.equal(0);
  });
});
