import { expect } from "chai";
import type { Pod } from "#kube/api/builtin.ts";
import { podRequests, resourcesIn } from "#operator/cluster/podRequests.ts";

type PodSpec = NonNullable<Pod["spec"]>;
const container = (cpu: string, memory: string, restartPolicy?: string): PodSpec["containers"][number] => ({
  name: "c",
  resources: { requests: { cpu, memory } },
  ...(restartPolicy === undefined ? {} : { restartPolicy }),
});

describe("podRequests", () => {
  const cases: [string, PodSpec | undefined, [number, number]][] = [
    [
      "the sum of containers",
      { containers: [container("250m", "64Mi"), container("1", "1Gi")] },
      [1250, 64 + 1024],
    ],
    ["nothing for a container without requests", { containers: [{ name: "c" }] }, [0, 0]],
    [
      "sidecars in addition to the containers",
      { initContainers: [container("100m", "32Mi", "Always")], containers: [container("1", "64Mi")] },
      [1100, 96],
    ],
    [
      "an init container that requests more than later containers",
      { initContainers: [container("2", "512Mi")], containers: [container("1", "64Mi")] },
      [2000, 512],
    ],
    [
      "an init container in addition to earlier sidecars",
      {
        initContainers: [
          container("500m", "100Mi", "Always"),
          container("2", "200Mi"),
          container("500m", "100Mi", "Always"),
        ],
        containers: [container("1", "64Mi")],
      },
      [2500, 300],
    ],
    [
      "the overhead of a runtime class on top",
      { containers: [container("1", "64Mi")], overhead: { cpu: "50m", memory: "16Mi" } },
      [1050, 80],
    ],
    [
      "the pod-level requests, if any",
      { containers: [container("1", "64Mi")], resources: { requests: { cpu: "3" } } },
      [3000, 64],
    ],
    ["nothing for a pod without a spec", undefined, [0, 0]],
  ];
  for (const [what, spec, [cpuMillicores, mebibytes]] of cases) {
    it(`counts ${what}`, () =>
      expect(podRequests({ spec })).to.deep.equal({ cpuMillicores, memoryBytes: mebibytes * 2 ** 20 }));
  }
});

describe("podRequests (CPU)", () => {
  it("returns exactly the sum of the containers' requests", () => {
    for (let millicores = 250; millicores <= 4000; millicores += 10) {
      const spec = {
        initContainers: [container("250m", "0", "Always")],
        containers: [container(`${millicores}m`, "0")],
      };
      expect(podRequests({ spec }).cpuMillicores).to.equal(250 + millicores);
      expect(resourcesIn({ cpu: `${millicores}m` })).to.deep.equal({ cpuMillicores: millicores });
    }
  });
});

describe("resourcesIn", () => {
  it("returns the resources in the list", () => {
    expect(resourcesIn({ cpu: "3920m", memory: "16Gi", "nvidia.com/gpu": "1" })).to.deep.equal({
      cpuMillicores: 3920,
      memoryBytes: 2 ** 34,
    });
    expect(resourcesIn({ cpu: "2" })).to.deep.equal({ cpuMillicores: 2000 });
    expect(resourcesIn(undefined)).to.deep.equal({});
  });
});
