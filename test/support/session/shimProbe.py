"""shimProbe.py CASE: what programs of engines do with sockets, file watches and devices. Prints JSON."""

import asyncio
import ctypes
import errno
import http.server
import json
import os
import select
import socket
import socketserver
import struct
import subprocess
import sys
import threading
import urllib.request

# A handle of the library, as Mono uses for native calls, leads past preloaded libraries.
libc = ctypes.CDLL("libc.so.6", use_errno=True)


def error_of(work):
    try:
        return work() and "done"
    except OSError as error:
        return errno.errorcode[error.errno]


def connect(host, port, kind=socket.SOCK_STREAM):
    with socket.socket(socket.AF_INET, kind) as client:
        client.connect((host, port))
    return True


def bind(host, port, family=socket.AF_INET):
    with socket.socket(family) as server:
        server.bind((host, port))
    return True


def tcp():
    """A threaded server on an ephemeral port, reached by name, and the addresses of both ends."""
    server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), http.server.SimpleHTTPRequestHandler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    address = server.server_address
    body = urllib.request.urlopen(f"http://localhost:{address[1]}/").read()
    with socket.create_connection(address) as client:
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return {
            "served": len(body) > 0,
            "ephemeral": 32768 <= address[1] <= 60999,
            "family": client.family.name,
            "client": client.getsockname()[0],
            "peer": client.getpeername() == address,
            "noDelay": client.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY),
            "second": error_of(lambda: bind(*address)),
        }


def wildcards():
    """A server on :: is reached by IPv4 and IPv6, and occupies its port for both."""
    with socket.socket(socket.AF_INET6) as server:
        server.bind(("::", 0))
        server.listen()
        port = server.getsockname()[1]
        found = []
        for host in ("127.0.0.1", "::1"):
            with socket.create_connection((host, port)) as client:
                accepted, address = server.accept()
                accepted.close()
                found.append([address[0], address[1] == client.getsockname()[1]])
        return {"found": found, "second": error_of(lambda: bind("0.0.0.0", port))}


def event_loop():
    """A server on both addresses of localhost, registered with epoll before it connects."""

    async def run():
        async def greet(_, writer):
            writer.write(b"hello")
            writer.close()

        server = await asyncio.start_server(greet, ["127.0.0.1", "::1"], 7001)
        answers = []
        for host in ("127.0.0.1", "::1", "localhost"):
            reader, writer = await asyncio.open_connection(host, 7001)
            answers.append((await reader.read()).decode())
            writer.close()
        server.close()
        return answers

    return asyncio.run(run())


def edges():
    """A socket that does not block is registered before it connects, and only changes are reported."""
    with socket.socket() as server, socket.socket() as client, select.epoll() as poll:
        server.bind(("127.0.0.1", 0))
        server.listen()
        client.setblocking(False)
        poll.register(client, select.EPOLLOUT | select.EPOLLET)
        poll.poll(0)
        result = errno.errorcode[client.connect_ex(server.getsockname())]
        ready = poll.poll(10) == [(client.fileno(), select.EPOLLOUT)]
        return [result, ready, client.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)]


def udp():
    server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    server.bind(("0.0.0.0", 7002))
    client = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
    client.sendto(b"one", ("::ffff:127.0.0.1", 7002))
    first, address = server.recvfrom(16)
    server.sendto(b"two", address)
    second, sender = client.recvfrom(16)
    connected = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    connected.connect(("127.0.0.1", 7003))
    lost = error_of(lambda: connected.send(b"lost"))
    late = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    late.bind(("127.0.0.1", 7003))
    connected.send(b"three")
    third, sender3 = late.recvfrom(16)
    return {
        "received": [first.decode(), second.decode(), third.decode()],
        "senders": [address[0], sender[0], sender3[0]],
        "sameAddress": sender3 == connected.getsockname(),
        "beforeThePeer": lost,
        "intoNothing": server.sendto(b"x", ("127.0.0.1", 7004)),
    }


def refusals():
    return {
        "closed": error_of(lambda: connect("127.0.0.1", 7005)),
        "internet": error_of(lambda: connect("192.0.2.1", 80)),
        "datagram": error_of(lambda: connect("192.0.2.1", 80, socket.SOCK_DGRAM)),
        "bind": error_of(lambda: bind("192.0.2.1", 80)),
        "raw": error_of(lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, 1)),
    }


def inherited():
    """Another program uses a listening socket that it inherits, as a duplicate."""
    child = (
        "import socket, sys; s = socket.socket(fileno=int(sys.argv[1])); c, a = s.accept();"
        "c.sendall(repr((s.family.name, s.getsockname()[0], a[0])).encode())"
    )
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        copy = os.dup(server.fileno())
        os.set_inheritable(copy, True)
        with subprocess.Popen([sys.executable, "-c", child, str(copy)], close_fds=False):
            with socket.create_connection(server.getsockname()) as client:
                return client.recv(100).decode()


def watch():
    """inotify reports nothing except the removal of a watch."""
    instance = libc.inotify_init1(os.O_NONBLOCK)
    first = libc.inotify_add_watch(instance, b"/usr", 0x100)
    same = libc.inotify_add_watch(instance, b"/usr/.", 0x200)
    other = libc.inotify_add_watch(instance, b"/etc/passwd", 0x100)
    missing = libc.inotify_add_watch(instance, b"/nowhere", 0x100), errno.errorcode[ctypes.get_errno()]
    silent = error_of(lambda: os.read(instance, 4096))
    copy = os.dup(instance)
    removed = libc.inotify_rm_watch(copy, first)
    ready = select.select([instance], [], [], 10)[0] == [instance]
    wd, mask, _, _ = struct.unpack("iIII", os.read(instance, 4096))
    again = libc.inotify_rm_watch(instance, first), errno.errorcode[ctypes.get_errno()]
    by_number = libc.syscall(294 if os.uname().machine == "x86_64" else 26, os.O_CLOEXEC) >= 0
    return {
        "watches": [first, same, other],
        "missing": missing,
        "silent": silent,
        "removed": [removed, ready, wd, hex(mask)],
        "again": again,
        "byNumber": by_number,
    }


def unix():
    """Unix sockets with every priority that a program may set. libpulse sets 6."""
    server = socket.socket(socket.AF_UNIX)
    server.bind("\0shim probe")
    server.listen(16)
    reached = []
    for priority in range(7):
        with socket.socket(socket.AF_UNIX) as client:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_PRIORITY, priority)
            client.connect("\0shim probe")
            reached.append(client.getpeername() == b"\0shim probe")
    return reached


def udev():
    """libudev's monitor with a packet filter, as SDL, Godot and Wine open it."""
    lib = ctypes.CDLL("libudev.so.1")
    for name in ("udev_new", "udev_monitor_new_from_netlink", "udev_monitor_receive_device"):
        getattr(lib, name).restype = ctypes.c_void_p
    monitor = ctypes.c_void_p(lib.udev_monitor_new_from_netlink(ctypes.c_void_p(lib.udev_new()), b"udev"))
    matched = lib.udev_monitor_filter_add_match_subsystem_devtype(monitor, b"input", None)
    enabled = lib.udev_monitor_enable_receiving(monitor)
    fd = lib.udev_monitor_get_fd(monitor)
    netlink = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 15)
    netlink.bind((0, 2))
    return {
        "monitor": [matched, enabled, fd >= 0],
        "ready": select.select([fd, netlink], [], [], 0.1)[0],
        "device": lib.udev_monitor_receive_device(monitor),
    }


print(json.dumps(globals()[sys.argv[1]]()))
