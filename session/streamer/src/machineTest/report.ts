import type { RenderingObstacle } from "#contracts/stream.ts";
import { isSoftware } from "../display/startDisplay.ts";
import type { MachineFindings } from "./checkMachine.ts";

/** One line of the report. */
interface Line {
  /** Undefined for a fact that is neither good nor bad. */
  works?: boolean;
  what: string;
  found: string;
  advice?: string;
}

/** Returns the report in Markdown: a sentence, what works and what does not, and measured streams. */
export function buildReport(findings: MachineFindings, log: readonly string[]): string {
  const { devices, picture } = findings;
  const sections = [
    ["Devices and drivers", deviceLines(findings)],
    ["Rendering without a display", headlessLines(findings)],
    ...findings.displays.map((display) => [display.name, displayLines(display)] as const),
    ["Encoders", encoderLines(findings)],
  ] as const;
  return [
    "# Joypod on this machine",
    "",
    `**${summary(findings)}**`,
    "",
    `Processor: ${devices.processor}. Picture: ${picture.width}x${picture.height}, ${picture.fps} frames per second.`,
    ...sections.flatMap(([title, lines]) => ["", `## ${title}`, "", ...lines.map(lineText)]),
    "",
    "## Streams of a moving picture, on the display that a session gets",
    "",
    "| Encoder | Drawn per s | Sent per s | kbit/s | Game, cores | X server, cores | Capture and encoder, cores |",
    "| --- | --- | --- | --- | --- | --- | --- |",
    ...findings.streams.map(streamRow),
    "",
    "## Log",
    "",
    "```text",
    ...log,
    "```",
    "",
  ].join("\n");
}

function lineText({ works, what, found, advice }: Line): string {
  const mark = works === undefined ? "" : works ? "works: " : "DOES NOT WORK: ";
  return `- ${what}: ${mark}${found.replaceAll(/\s+/g, " ")}${advice === undefined ? "" : `. ${advice}`}`;
}

const reasons: Record<RenderingObstacle, string> = {
  NoRenderNode: "there is no render node (/dev/dri/renderD*)",
  DisplayFailed: "the accelerated display did not start",
  SoftwareRenderer: "the drivers found no GPU",
  ProbeFailed: "a test image on the accelerated display was wrong or could not be drawn",
};

function summary({ session, encoders }: MachineFindings): string {
  if (!session) return "No display starts, so no session can run here.";
  const rendering =
    session.obstacle === undefined
      ? `A session with a GPU renders with ${session.renderer} on ${session.display}`
      : `A session with a GPU renders in software on ${session.display}, because ${reasons[session.obstacle]},`;
  const found = encoders.filter(({ works }) => works).map(({ encoder }) => encoder);
  if (found.length === 0) return `${rendering} and cannot be streamed, because no encoder works.`;
  const isHardware = found.some((name) => /^(nv|va)/.test(name));
  return `${rendering} and encodes ${isHardware ? "on the GPU" : "in software"} (${found.join(", ")}).`;
}

function deviceLines({ devices }: MachineFindings): Line[] {
  const { renderNodes, nvidiaDriver, missingNvidiaFiles } = devices;
  const lines: Line[] = renderNodes.map(({ path, driver, group, isAccessible }) => ({
    works: isAccessible,
    what: path,
    found: `driver ${driver ?? "unknown"}, group ${group}`,
    ...(isAccessible ? {} : { advice: `Set gpu.groups to [${group}]` }),
  }));
  if (renderNodes.length === 0) {
    lines.push({
      works: false,
      what: "Render node",
      found: "/dev/dri has no renderD*",
      advice:
        nvidiaDriver === undefined
          ? "Install the GPU's kernel driver. Without a GPU set gpu.resourceName to an empty string"
          : "Load nvidia-drm with modeset=1 on the host, and pass /dev/dri to the container (driver capability graphics or display)",
    });
  }
  lines.push({ what: "NVIDIA's kernel driver", found: nvidiaDriver ?? "none" });
  if (missingNvidiaFiles.length > 0) {
    lines.push({
      works: false,
      what: "NVIDIA's libraries",
      found: `missing ${missingNvidiaFiles.join(", ")}`,
      advice: "In a container, check gpu.driverCapabilities; otherwise the host's driver lacks them",
    });
  }
  return lines;
}

function headlessLines({ headless }: MachineFindings): Line[] {
  return headless.map(({ api, values, failure }) => {
    const names = [...values.values()];
    const renderers = [...values].filter(([name]) => name !== "gbmBackend").map(([, renderer]) => renderer);
    const works = failure === undefined && renderers.some(isGpu);
    return {
      works,
      what: api,
      found: failure ?? (names.join(", ") || "no device"),
      ...(works ? {} : { advice: "The GPU's driver for it is missing here or finds no device" }),
    };
  });
}

function isGpu(renderer: string): boolean {
  return renderer !== "" && !isSoftware(renderer) && !/^(has no context|does not start)$/.test(renderer);
}

function displayLines({ name, hasStarted, drawings }: MachineFindings["displays"][number]): Line[] {
  const lines: Line[] = [
    {
      works: hasStarted,
      what: "Display",
      found: hasStarted ? "accepts connections" : "does not start",
      ...(hasStarted ? {} : { advice: `The log below has ${name}'s last words` }),
    },
  ];
  return [
    ...lines,
    ...drawings.map(({ api, values, failure }) => {
      const renderer =
        values.get("renderer") ?? values.get("eglRenderer") ?? values.get("vulkanDevice") ?? "";
      const frameMs = values.get("glFrameMs") ?? values.get("eglFrameMs") ?? values.get("vulkanFrameMs");
      const time = frameMs === undefined ? "" : `, ${frameMs} ms per frame`;
      const where = isGpu(renderer) ? "" : " (software)";
      return {
        works: failure === undefined,
        what: api,
        found:
          failure === undefined
            ? `${renderer}${where}${time}`
            : [renderer, failure].filter(Boolean).join(": "),
      };
    }),
  ];
}

function encoderLines({ encoders }: MachineFindings): Line[] {
  return encoders.map(({ encoder, works, reason }) => ({
    works,
    what: encoder,
    found: works ? "encodes" : reason || "no frame came out",
    ...(works ? {} : { advice: encoderAdvice(encoder) }),
  }));
}

function encoderAdvice(encoder: string): string {
  if (encoder.startsWith("nv"))
    return "The GPU has no video encoder of this kind (NVIDIA A100, H100 and H200 have none), or the driver capability video is missing";
  if (encoder.startsWith("va")) return "The GPU has no VA-API encoder of this kind with a free driver";
  return "The image's plugin is damaged";
}

function streamRow(stream: MachineFindings["streams"][number]): string {
  if ("failure" in stream) return `| ${stream.encoder} | DOES NOT WORK: ${stream.failure} | | | | | |`;
  const { encoder, codec, drawnFrames, sentFrames, sentKbits, processor } = stream;
  const numbers = [drawnFrames.toFixed(1), sentFrames.toFixed(1), sentKbits.toFixed(0)];
  const cores = [processor.game, processor.display, processor.stream].map((used) => used.toFixed(2));
  return `| ${encoder} (${codec}) | ${[...numbers, ...cores].join(" | ")} |`;
}
