#!/usr/bin/env bash
# create.sh: recreates the archives in this folder, the same game packed by each tool. Needs GNU tar, bsdtar,
# busybox, 7z, python3, Go, git, and node_modules. The folder's file system must support holes.
set -euo pipefail
out=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$out/../../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

mkdir -p game/engine/"$(printf 'd%.0s' {1..90})"
printf '#!/bin/sh\nexec ./engine/run\n' >game/play.sh
chmod 755 game/play.sh
printf 'größe\n' >game/engine/größe.txt
printf 'long\n' >game/engine/"$(printf 'd%.0s' {1..90})"/"$(printf 'f%.0s' {1..90})".txt
printf 'old\n' >game/engine/old.txt
truncate -s 300000 game/engine/zeros.bin
for at in $(seq 0 16384 655360); do
  printf 'segment\n' | dd of=game/engine/holes.bin bs=1 seek="$at" conv=notrunc status=none
done
truncate -s 700000 game/engine/holes.bin
find game -exec touch -d @1700000000 {} +
touch -d @-43200 game/engine/old.txt

bsdtar -czf bsdtar.tar.gz -C game .
LC_ALL=C bsdtar -czf bsdtar-c-locale.tar.gz -C game . 2>/dev/null || true # Warns, and packs all the same.
bsdtar --format=gnutar -czf bsdtar-gnutar.tar.gz -C game .
tar -czf gnu.tar.gz -C game .
tar --format=posix -czf gnu-posix.tar.gz -C game .
tar --sparse -czf gnu-sparse.tar.gz -C game .
for version in 0.0 0.1 1.0; do
  tar --format=posix --sparse --sparse-version=$version -czf gnu-sparse-$version.tar.gz -C game .
done
busybox tar -czf busybox.tar.gz -C game .
for method in gnu posix pax; do
  (cd game && 7z a -ttar -mm=$method "../7z-$method.tar" . >/dev/null)
  gzip 7z-$method.tar
done
python3 - <<'PYTHON'
import tarfile
for name, form, root in (("gnu", tarfile.GNU_FORMAT, "."), ("pax", tarfile.PAX_FORMAT, "")):
    with tarfile.open(f"python-{name}.tar.gz", "w:gz", format=form) as archive:
        archive.add("game", arcname=root)
PYTHON
cat >pack.go <<'GO'
package main

import (
	"archive/tar"
	"compress/gzip"
	"os"
)

func main() {
	file, _ := os.Create("go.tar.gz")
	zipped := gzip.NewWriter(file)
	archive := tar.NewWriter(zipped)
	if err := archive.AddFS(os.DirFS("game")); err != nil {
		panic(err)
	}
	archive.Close()
	zipped.Close()
}
GO
go run pack.go
git init -q repository
cp -r game/. repository/
(cd repository && git add . && git -c user.name=a -c user.email=a@example.com commit -qm a &&
  git archive --format=tar.gz -o ../git.tar.gz HEAD)
NODE_PATH=$root/node_modules node -e '
  require("tar-fs").pack("game").pipe(require("zlib").createGzip()).pipe(require("fs").createWriteStream("node-tar-fs.tar.gz"));'
mv ./*.tar.gz "$out"
