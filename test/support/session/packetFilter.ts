/** A system call as a filter sees it. */
export interface SystemCall {
  /** Architecture, as in linux/audit.h. */
  architecture: number;
  number: number;
  arguments?: (number | bigint)[];
}

interface Instruction {
  code: number;
  ifTrue: number;
  ifFalse: number;
  operand: number;
}

const instructionBytes = 8;
const allowed = 0x7fff_0000;
const errorAction = 0x5_0000;
const mask32 = 0xffff_ffffn;

/** Parses a program of `struct sock_filter`, as written by seccomp_export_bpf. */
export function readPacketFilter(program: Buffer): Instruction[] {
  return Array.from(
    { length: program.length / instructionBytes },
    (_, index) => index * instructionBytes,
  ).map((at) => ({
    code: program.readUInt16LE(at),
    ifTrue: program.readUInt8(at + 2),
    ifFalse: program.readUInt8(at + 3),
    operand: program.readUInt32LE(at + 4),
  }));
}

/**
 * Runs the program like the kernel. Returns "allowed" or the error number.
 *
 * @throws Error on any other action.
 */
export function runFilter(program: readonly Instruction[], call: SystemCall): "allowed" | number {
  const data = describe(call);
  let accumulator = 0;
  for (let at = 0; at < program.length; at++) {
    const { code, ifTrue, ifFalse, operand } = program[at] ?? { code: -1, ifTrue: 0, ifFalse: 0, operand: 0 };
    const jump = (isTrue: boolean) => {
      at += isTrue ? ifTrue : ifFalse;
    };
    switch (code) {
      case 0x20:
        accumulator = data.readUInt32LE(operand);
        break; // BPF_LD | BPF_W | BPF_ABS
      case 0x54:
        accumulator = (accumulator & operand) >>> 0;
        break; // BPF_ALU | BPF_AND | BPF_K
      case 0x05:
        at += operand;
        break; // BPF_JMP | BPF_JA
      case 0x15:
        jump(accumulator === operand);
        break; // BPF_JMP | BPF_JEQ | BPF_K
      case 0x25:
        jump(accumulator > operand);
        break; // BPF_JMP | BPF_JGT | BPF_K
      case 0x35:
        jump(accumulator >= operand);
        break; // BPF_JMP | BPF_JGE | BPF_K
      case 0x45:
        jump((accumulator & operand) !== 0);
        break; // BPF_JMP | BPF_JSET | BPF_K
      case 0x06:
        return readAction(operand); // BPF_RET | BPF_K
      default:
        throw new Error(
          `The filter has an instruction that this reader does not know: 0x${code.toString(16)}.`,
        );
    }
  }
  throw new Error("The filter ends without an action.");
}

/** Builds a `struct seccomp_data`. */
function describe({ architecture, number, arguments: values = [] }: SystemCall): Buffer {
  const data = Buffer.alloc(64);
  data.writeUInt32LE(number >>> 0, 0);
  data.writeUInt32LE(architecture, 4);
  values.forEach((value, index) => {
    data.writeUInt32LE(Number(BigInt(value) & mask32), 16 + index * 8);
    data.writeUInt32LE(Number((BigInt(value) >> 32n) & mask32), 20 + index * 8);
  });
  return data;
}

function readAction(value: number): "allowed" | number {
  if (value === allowed) return "allowed";
  if ((value & 0xffff_0000) === errorAction) return value & 0xffff;
  throw new Error(`The filter returns more than an error: 0x${value.toString(16)}.`);
}
