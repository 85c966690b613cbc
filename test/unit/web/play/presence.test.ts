import { expect } from "chai";
import { Presence } from "#web/play/presence.ts";

describe("Presence", () => {
  let presence: Presence;
  let noted: number;
  beforeEach(() => {
    presence = new Presence();
    noted = 0;
    presence.subscribe(() => noted++);
  });

  it("notes input that the player causes, and not what the page repeats", () => {
    presence.noteInput({ t: "held", k: ["KeyW"], b: 0 });
    presence.noteInput({ t: "pad", s: [900, 0, 0, 0], l: 0, r: 0, b: 0 });
    expect(noted).to.equal(0);
    presence.noteInput({ t: "pad", s: [900, 0, 0, 0], l: 0, r: 0, b: 1 });
    expect(noted).to.equal(1);
  });

  it("notes input on the page until it is stopped", () => {
    const page = new EventTarget();
    const stop = presence.watch(page);
    for (const name of ["pointerdown", "wheel", "touchstart", "scroll"]) page.dispatchEvent(new Event(name));
    expect(noted).to.equal(3);
    stop();
    page.dispatchEvent(new Event("pointerdown"));
    expect(noted).to.equal(3);
  });
});
