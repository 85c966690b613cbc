import {
  accessSync,
  constants,
  existsSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  statSync,
} from "node:fs";
import { cpus } from "node:os";
import { basename } from "node:path";

/** A GPU's device file for rendering. */
export interface RenderNode {
  path: string;
  /** Kernel driver; undefined if the kernel does not say. */
  driver: string | undefined;
  /** Group that owns the file, as `gpu.groups` names it. */
  group: number;
  isAccessible: boolean;
}

/** The machine's processor and GPUs. */
export interface Devices {
  processor: string;
  renderNodes: RenderNode[];
  /** Version of NVIDIA's kernel driver; undefined without one. */
  nvidiaDriver: string | undefined;
  /** NVIDIA's user-space files that are missing here, with what needs them. */
  missingNvidiaFiles: string[];
}

/** Returns what the kernel and the file system say about the machine's GPUs. */
export function findDevices(): Devices {
  const nvidiaDriver = readNvidiaVersion();
  return {
    processor: `${cpus()[0]?.model.trim() ?? "unknown"}, ${cpus().length} cores`,
    renderNodes: findRenderNodes(),
    nvidiaDriver,
    missingNvidiaFiles: nvidiaDriver === undefined ? [] : findMissingNvidiaFiles(),
  };
}

function findRenderNodes(folder = "/dev/dri"): RenderNode[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder)
    .filter((name) => /^renderD\d+$/.test(name))
    .sort()
    .map((name) => {
      const path = `${folder}/${name}`;
      return {
        path,
        driver: orUndefined(() => basename(readlinkSync(`/sys/class/drm/${name}/device/driver`))),
        group: statSync(path).gid,
        isAccessible: isAccessible(path),
      };
    });
}

function isAccessible(path: string): boolean {
  try {
    accessSync(path, constants.R_OK | constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

function readNvidiaVersion(): string | undefined {
  const text = orUndefined(() => readFileSync("/proc/driver/nvidia/version", "utf8"));
  return text === undefined
    ? undefined
    : (/\b(\d+\.\d+(?:\.\d+)?)\b/.exec(text)?.[1] ?? "of unknown version");
}

const libraryFolders = ["/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64"];
/** Where the driver's files can be, and what needs them. The container toolkit adds them by capability. */
const nvidiaFiles: readonly { what: string; names: readonly string[]; folders: readonly string[] }[] = [
  { what: "OpenGL in windows", names: ["libGLX_nvidia.so.0"], folders: libraryFolders },
  { what: "EGL", names: ["libEGL_nvidia.so.0"], folders: libraryFolders },
  {
    what: "EGL",
    names: ["10_nvidia.json"],
    folders: ["/usr/share/glvnd/egl_vendor.d", "/etc/glvnd/egl_vendor.d"],
  },
  {
    what: "Vulkan",
    names: ["nvidia_icd.json", "nvidia_icd.x86_64.json"],
    folders: ["/usr/share/vulkan/icd.d", "/etc/vulkan/icd.d"],
  },
  {
    what: "Xwayland",
    names: ["libnvidia-egl-gbm.so.1"],
    folders: libraryFolders,
  },
  {
    what: "Xwayland",
    names: ["nvidia-drm_gbm.so"],
    folders: libraryFolders.map((folder) => `${folder}/gbm`),
  },
  { what: "encoding", names: ["libnvidia-encode.so.1"], folders: libraryFolders },
  { what: "encoding", names: ["libcuda.so.1"], folders: libraryFolders },
];

function findMissingNvidiaFiles(): string[] {
  return nvidiaFiles
    .filter(
      ({ names, folders }) =>
        !folders.some((folder) => names.some((name) => existsSync(`${folder}/${name}`))),
    )
    .map(({ what, names }) => `${names[0]} (${what})`);
}

function orUndefined<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}
