FROM debian:bookworm-slim
RUN --mount=type=secret,id=ca,mode=0444 --mount=type=secret,id=apt,target=/etc/apt/apt.conf.d/95build-host,mode=0444 \
    apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends iptables conntrack nftables kmod \
    && rm -rf /var/lib/apt/lists/* /var/cache/apt/* /var/log/apt /var/log/dpkg.log
COPY kube-proxy /usr/local/bin/kube-proxy
