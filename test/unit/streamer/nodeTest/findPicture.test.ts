import { expect } from "chai";
import { encoders } from "#streamer/media/encoders.ts";
import { describeEncoders } from "#streamer/nodeTest/findPicture.ts";

describe("what the node test reports of encoders", () => {
  const found = (...names: string[]) =>
    new Map(encoders.filter(({ name }) => names.includes(name)).map((encoder) => [encoder.codec, encoder]));

  it("is each codec's name, and that a GPU encodes in none of them where sessions are to have one", () => {
    const inSoftware = [
      { codec: "h264", name: "x264enc" },
      { codec: "vp8", name: "vp8enc" },
    ];
    expect(describeEncoders("gpu", found("x264enc", "vp8enc"))).to.deep.equal({
      encoders: inSoftware,
      encodesInSoftware: true,
    });
    expect(describeEncoders("software", found("x264enc", "vp8enc"))).to.deep.equal({ encoders: inSoftware });
    expect(describeEncoders("gpu", found("vah264lpenc", "vp8enc"))).to.deep.equal({
      encoders: [
        { codec: "h264", name: "vah264lpenc" },
        { codec: "vp8", name: "vp8enc" },
      ],
    });
  });
});
