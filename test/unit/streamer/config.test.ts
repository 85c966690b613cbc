import { expect } from "chai";
import { readConfig } from "#streamer/config.ts";

const keys = { TICKET_PUBLIC_KEY: "A".repeat(43), OPERATOR_PUBLIC_KEY: `B${"A".repeat(42)}` };
const own = { UDP_PORT: "30000", SESSION_ID: "gs-own", ...keys };
const enough = { ...own, HOST_IP: "192.0.2.1" };

describe("the streamer's readConfig", () => {
  it("requires a UDP port, an address, a session and the keys of its tickets, and has defaults for the rest", () => {
    expect(readConfig(enough)).to.deep.include({
      display: ":99",
      width: 1_280,
      height: 720,
      bounds: { width: 1_280, height: 720, fps: 60, maxFps: 60, maxKbps: 8_000 },
      quality: { preset: "auto", width: 1_280, height: 720, fps: 60, maxKbps: 8_000 },
      signalPort: 8_080,
      udpPort: 30_000,
      announceAddresses: ["192.0.2.1"],
      startKbps: 4_000,
      codecs: ["h264", "h265", "av1", "vp8"],
      profile: "software",
      soundSocket: "/run/session/pulse.sock",
      gameReportPath: "/run/game/game.json",
      gamepadDirectory: "/run/session/pads",
      tickets: {
        sessionId: "gs-own",
        viewerKey: keys.TICKET_PUBLIC_KEY,
        operatorKey: keys.OPERATOR_PUBLIC_KEY,
      },
    });
  });

  it("announces ANNOUNCE_ADDRESS, else the node's address, else the pod's", () => {
    const announced = (variables: Record<string, string>) =>
      readConfig({ ...own, ...variables }).announceAddresses;
    expect(
      announced({ ANNOUNCE_ADDRESS: "203.0.113.1", HOST_IP: "192.0.2.1", POD_IP: "10.0.0.1" }),
    ).to.deep.equal(["203.0.113.1"]);
    expect(announced({ ANNOUNCE_ADDRESS: "", HOST_IP: "192.0.2.1", POD_IP: "10.0.0.1" })).to.deep.equal([
      "192.0.2.1",
    ]);
    expect(announced({ POD_IP: "2001:db8::5" })).to.deep.equal(["2001:db8::5"]);
    expect(
      announced({ ANNOUNCE_ADDRESS: "203.0.113.1, 2001:db8::1,203.0.113.1", HOST_IP: "192.0.2.1" }),
    ).to.deep.equal(["203.0.113.1", "2001:db8::1"]);
  });

  it("limits the starting bitrate to the maximum", () => {
    expect(readConfig({ ...enough, START_KBPS: "9000", MAX_KBPS: "2000" }).startKbps).to.equal(2_000);
  });

  it("starts with the configured quality within the session's bounds", () => {
    const told = {
      QUALITY_PRESET: "dataSaver",
      QUALITY_WIDTH: "854",
      QUALITY_HEIGHT: "480",
      QUALITY_FPS: "30",
      QUALITY_MAX_KBPS: "1500",
    };
    expect(readConfig({ ...enough, ...told }).quality).to.deep.equal({
      preset: "dataSaver",
      width: 854,
      height: 480,
      fps: 30,
      maxKbps: 1_500,
    });
    expect(
      readConfig({ ...enough, FPS: "30", MAX_FPS: "60", QUALITY_FPS: "120", QUALITY_MAX_KBPS: "90000" })
        .quality,
    ).to.include({ fps: 60, maxKbps: 8_000 });
    expect(() => readConfig({ ...enough, QUALITY_PRESET: "best" })).to.throw("QUALITY_PRESET");
  });

  it("throws one error that names every invalid variable", () => {
    expect(() => readConfig({ UDP_PORT: "70000", WIDTH: "1281", CODECS: "h264,av2", HOST_IP: "node1" }))
      .to.throw(/UDP_PORT[^]*|WIDTH[^]*/)
      .with.property("message")
      .that.matches(/WIDTH/)
      .and.matches(/CODECS/)
      .and.matches(/HOST_IP/);
    expect(() => readConfig(own)).to.throw(/ANNOUNCE_ADDRESS, HOST_IP or POD_IP/);
  });

  it("accepts offers without tickets only if configured to", () => {
    expect(readConfig({ ...enough, TICKET_PUBLIC_KEY: "none" }).tickets.viewerKey).to.equal(undefined);
    for (const name of ["TICKET_PUBLIC_KEY", "OPERATOR_PUBLIC_KEY", "SESSION_ID"]) {
      for (const value of [undefined, ""])
        expect(() => readConfig({ ...enough, [name]: value }), name).to.throw(name);
    }
    expect(() => readConfig({ ...enough, OPERATOR_PUBLIC_KEY: "none" })).to.throw("OPERATOR_PUBLIC_KEY");
  });

  it("uses the image's plugin registry for software encoders and a pod-local one for GPU encoders", () => {
    for (const PROFILE of ["gpu", "software"]) {
      const { gpu, software } = readConfig({
        ...enough,
        PROFILE,
        SOFTWARE_GST_REGISTRY: "/app/registry",
      }).encoderEnvironments;
      expect(software).to.include({ GST_REGISTRY: "/app/registry", GST_REGISTRY_UPDATE: "no" });
      expect(gpu)
        .to.include({ GST_REGISTRY: "/tmp/joypod-streamer/gstreamer-registry.bin" })
        .and.not.have.property("GST_REGISTRY_UPDATE");
    }
  });

  it("builds a registry for software encoders if the image has none", () => {
    expect(readConfig(enough).encoderEnvironments.software)
      .to.include({ GST_REGISTRY: "/tmp/joypod-streamer/gstreamer-registry.bin" })
      .and.not.have.property("GST_REGISTRY_UPDATE");
  });

  it("passes no other variables of the pod to child processes", () => {
    const { childEnvironment, encoderEnvironments } = readConfig({ ...enough, SECRET: "hidden" });
    for (const environment of [childEnvironment, ...Object.values(encoderEnvironments)])
      expect(Object.values(environment)).not.to.include("hidden");
  });

  it("configures saves when all their variables are set and throws when only some are", () => {
    const saves = { SAVE_VOLUME: "/session", SPOOL_DIR: "/spool", SESSION_UID: "u" };
    expect(readConfig(enough).saves).to.equal(undefined);
    expect(readConfig({ ...enough, ...saves, NODE_COMPILE_CACHE: "/warm" }).saves).to.deep.equal({
      environment: { ...saves, GAME_REPORT_DIR: "/run/game", NODE_COMPILE_CACHE: "/warm" },
      paths: { saveVolume: "/session", spool: "/spool", uid: "u" },
      packDeadlineMs: 90_000,
    });
    expect(() => readConfig({ ...enough, SAVE_VOLUME: "/session" })).to.throw(/SPOOL_DIR/);
  });
});
