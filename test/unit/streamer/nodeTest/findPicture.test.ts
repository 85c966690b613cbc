import { expect } from "chai";
import { encoders } from "#streamer/media/encoders.ts";
import { describeEncoders } from "#streamer/nodeTest/findPicture.ts";

describe("describeEncoders", () => {
  const found = (...names: string[]) =>
    new Map(encoders.filter(({ name }) => names.includes(name)).map((encoder) => [encoder.codec, encoder]));

  it("lists an encoder per codec and reports when none of them uses the required GPU", () => {
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
