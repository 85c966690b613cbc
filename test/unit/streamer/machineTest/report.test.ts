import { expect } from "chai";
import type { MachineFindings } from "#streamer/machineTest/checkMachine.ts";
import { buildReport } from "#streamer/machineTest/report.ts";

const software: MachineFindings = {
  devices: {
    processor: "A processor, 2 cores",
    renderNodes: [],
    nvidiaDriver: undefined,
    missingNvidiaFiles: [],
  },
  picture: { width: 1_280, height: 720, fps: 60 },
  headless: [{ api: "EGL", values: new Map([["eglDevice1", "llvmpipe (LLVM 19.1.7)"]]), failure: undefined }],
  displays: [
    { name: "Xwayland", hasStarted: false, drawings: [] },
    {
      name: "Xvfb",
      hasStarted: true,
      drawings: [
        {
          api: "OpenGL by nvidia",
          values: new Map([
            ["renderer", "llvmpipe"],
            ["glFrameMs", "0.40"],
          ]),
          failure: undefined,
        },
        { api: "Vulkan", values: new Map(), failure: "displayprobe: there is no Vulkan\ndriver" },
      ],
    },
  ],
  session: { display: "Xvfb", renderer: "software", obstacle: "NoRenderNode" },
  encoders: [
    { encoder: "nvh264enc", works: false, reason: 'Error: no element "nvh264enc"' },
    { encoder: "x264enc", works: true, reason: "" },
  ],
  streams: [
    {
      encoder: "x264enc",
      codec: "h264",
      drawnFrames: 60,
      sentFrames: 59.96,
      sentKbits: 1_034.6,
      processor: { game: 0.07, display: 0.041, stream: 0.2 },
    },
    { encoder: "vp8enc", failure: "no picture came within 10000 ms" },
  ],
};

describe("buildReport", () => {
  it("says what works without a GPU, what does not, and what to do", () => {
    const report = buildReport(software, ["a line"]);
    for (const line of [
      "**A session with a GPU renders in software on Xvfb, because there is no render node (/dev/dri/renderD*), and encodes in software (x264enc).**",
      "- Render node: DOES NOT WORK: /dev/dri has no renderD*. Install the GPU's kernel driver. Without a GPU set gpu.resourceName to an empty string",
      "- OpenGL by nvidia: works: llvmpipe (software), 0.40 ms per frame",
      "- Vulkan: DOES NOT WORK: displayprobe: there is no Vulkan driver",
      "- x264enc: works: encodes",
      "| x264enc (h264) | 60.0 | 60.0 | 1035 | 0.07 | 0.04 | 0.20 |",
      "| vp8enc | DOES NOT WORK: no picture came within 10000 ms | | | | | |",
      "a line",
    ]) {
      expect(report.split("\n")).to.include(line);
    }
    expect(report).to.match(/^- nvh264enc: DOES NOT WORK: .*H200 have none/m);
  });

  it("names the group of a render node that cannot be opened", () => {
    const node = { path: "/dev/dri/renderD128", driver: "amdgpu", group: 105, isAccessible: false };
    const report = buildReport({ ...software, devices: { ...software.devices, renderNodes: [node] } }, []);
    expect(report).to.include(
      "- /dev/dri/renderD128: DOES NOT WORK: driver amdgpu, group 105. Set gpu.groups to [105]\n",
    );
  });

  it("names the renderer of a session on a GPU, and hardware encoders", () => {
    const report = buildReport(
      {
        ...software,
        session: { display: "Xwayland", renderer: "A GPU", obstacle: undefined },
        encoders: [{ encoder: "vah264enc", works: true, reason: "" }],
      },
      [],
    );
    expect(report).to.include(
      "**A session with a GPU renders with A GPU on Xwayland and encodes on the GPU (vah264enc).**",
    );
  });
});
