# A Debian to run on for an architecture whose programs this machine cannot run: the files of the packages below and of all that they need, without
# their configuration scripts, of which these need none but what is done here. Scanners find the packages in /var/lib/dpkg/status.d.
# Optional build secrets, which stay out of the image: ca and apt (see tools/containers.sh).
ARG BUILDER=docker.io/library/debian:trixie-slim
FROM ${BUILDER} AS files
ARG TARGET_ARCHITECTURE
RUN --mount=type=secret,id=ca,mode=0444 --mount=type=secret,id=apt,target=/etc/apt/apt.conf.d/95build-host,mode=0444 set -eu; \
    mkdir -p /work/state/lists/partial /work/cache/archives/partial /base; : >/work/status; \
    targetApt() { apt-get -o "APT::Architecture=$TARGET_ARCHITECTURE" -o "APT::Architectures=$TARGET_ARCHITECTURE" \
      -o Dir::State=/work/state -o Dir::State::status=/work/status -o Dir::Cache=/work/cache -o Debug::NoLocking=true -o APT::Sandbox::User=root "$@"; }; \
    targetApt update; \
    targetApt install --yes --download-only --no-install-recommends base-files base-passwd ca-certificates coreutils dash libc6 libstdc++6 netbase tzdata; \
    mkdir -p /base/var/lib/dpkg/status.d; \
    for package in /work/cache/archives/*.deb; do \
      dpkg-deb --fsys-tarfile "$package" | tar -x -C /base --keep-directory-symlink; \
      dpkg-deb --field "$package" >"/base/var/lib/dpkg/status.d/$(dpkg-deb --field "$package" Package)"; \
    done; \
    cp /base/usr/share/base-passwd/passwd.master /base/etc/passwd; cp /base/usr/share/base-passwd/group.master /base/etc/group; \
    mkdir -p /base/etc/ssl/certs; cat /base/usr/share/ca-certificates/mozilla/*.crt >/base/etc/ssl/certs/ca-certificates.crt; \
    find /base/usr/share/doc -type f ! -name copyright -delete; rm -rf /base/usr/share/man /base/usr/share/info /base/usr/share/locale

FROM scratch
COPY --from=files /base /
CMD ["/bin/sh"]
