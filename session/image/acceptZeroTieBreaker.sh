#!/bin/sh
# acceptZeroTieBreaker.sh NODE_MODULES: makes the ICE library of node-datachannel accept a tie-breaker of zero. Used only during the build.
#
# Chromium's connectivity checks through a TURN relay carry ICE-CONTROLLING = 0, which RFC 8445 allows. libjuice keeps 0 for "no such
# attribute", and agent_process_stun_binding answers 400 (https://github.com/paullouisageneau/libjuice/issues/355), so relayed
# connections always fail. npm distributes only the compiled library, so this script replaces two conditional jumps of that function with no-ops:
# those to "Controlling and controlled attributes mismatch in request" and to "STUN message use_candidate missing ice_controlling
# attribute". All other checks remain: user, password and role conflicts.
#
# A new version of node-datachannel fails here. If its libjuice has fixed the issue (test/long/network passes without this step in the
# Dockerfile), remove this script. Otherwise find the two jumps in `objdump -d` by the addresses of their messages and update the offsets.
set -eu
version=0.33.4
found=$(node -p 'JSON.parse(fs.readFileSync(process.argv[1], "utf8")).version' "$1/node-datachannel/package.json")
if [ "$found" != "$version" ]; then
  echo "node-datachannel is $found, but acceptZeroTieBreaker.sh patches $version. See the comment at its top." >&2
  exit 1
fi

# Offsets in the file. The checksum covers the original bytes.
case $(dpkg --print-architecture) in
  amd64)
    file=$1/@node-datachannel/linux-x64-gnu/node_datachannel.node
    before=936d991f99cc07a48a8327199ca5ba098411f8b873dfe1a456069f09d64c52ff
    after=e92561dcd06cbcf16eedadc58d2c603b0ac055299aa37a6b4b84d410750ea6dd
    mismatch=$((0x48bf28)) nomination=$((0x48bf53)) # je, of six bytes
    nothing='\0146\0017\0037\0104\0000\0000'        # nopw 0x0(%rax,%rax,1)
    ;;
  arm64)
    file=$1/@node-datachannel/linux-arm64-gnu/node_datachannel.node
    before=aa24fb23f02aa23446b6de01aef978d463b8e0e4a498a0b747675b7244749613
    after=d5927aad0c3b44c140d018f170b4c4a117e4d925fcd60eab298b8fcc5d8026ab
    mismatch=$((0x3f3828)) nomination=$((0x3f384c)) # b.eq and cbz
    nothing='\0037\0040\0003\0325'                  # nop
    ;;
  *)
    echo 'acceptZeroTieBreaker.sh is for amd64 and arm64 only.' >&2
    exit 1
    ;;
esac

echo "$before  $file" | sha256sum --check --quiet
for offset in "$mismatch" "$nomination"; do
  printf %b "$nothing" | dd of="$file" bs=1 seek="$offset" conv=notrunc status=none
done
echo "$after  $file" | sha256sum --check --quiet
