const fixedHeaderBytes = 12;
const extensionFlag = 0x10;
const markerFlag = 0x80;
const oneByteProfile = 0xbede;

/** How packets of one track look to its browser. */
export interface PacketForm {
  payloadType: number;
  ssrc: number;
  transportSequenceId: number | undefined;
  playoutDelayId: number | undefined;
}

/** Whether this is the last packet of a frame. */
export function isFrameEnd(packet: Buffer): boolean {
  return ((packet[1] ?? 0) & markerFlag) !== 0;
}

/**
 * The packet for a browser: its payload type and SSRC, and the header extensions it understands. A playout delay of 0 to 0
 * tells it to show frames as they come, which is worth some 30 ms. The encoder's packets carry no extension of their own.
 */
export function formPacket(packet: Buffer, form: PacketForm, transportSequence: number): Buffer {
  const extension: number[] = [];
  if (form.transportSequenceId !== undefined) {
    extension.push((form.transportSequenceId << 4) | 1, (transportSequence >> 8) & 0xff, transportSequence & 0xff);
  }
  if (form.playoutDelayId !== undefined) extension.push((form.playoutDelayId << 4) | 2, 0, 0, 0);
  while (extension.length % 4 !== 0) extension.push(0);

  const extensionBytes = extension.length > 0 ? 4 + extension.length : 0;
  const formed = Buffer.allocUnsafe(packet.length + extensionBytes);
  packet.copy(formed, 0, 0, fixedHeaderBytes);
  packet.copy(formed, fixedHeaderBytes + extensionBytes, fixedHeaderBytes);
  if (extensionBytes > 0) {
    formed[0] = (packet[0] ?? 0) | extensionFlag;
    formed.writeUInt16BE(oneByteProfile, fixedHeaderBytes);
    formed.writeUInt16BE(extension.length / 4, fixedHeaderBytes + 2);
    formed.set(extension, fixedHeaderBytes + 4);
  }
  formed[1] = ((packet[1] ?? 0) & markerFlag) | form.payloadType;
  formed.writeUInt32BE(form.ssrc, 8);
  return formed;
}
