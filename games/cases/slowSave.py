"""Needs six seconds to save on SIGTERM, and overwrites the save before, as many games do."""

import hashlib
import os
import signal
import time

path = os.environ["HOME"] + "/world.sav"


def save(*_):
    digest = hashlib.sha256()
    with open(path, "wb", buffering=0) as file:
        for part in range(6):
            data = b"part %d " % part * 1000
            digest.update(data)
            file.write(data)
            time.sleep(1)
        file.write(b"SUM " + digest.hexdigest().encode())
    os._exit(0)


with open(path, "wb") as file:
    file.write(b"good old save SUM ok")
signal.signal(signal.SIGTERM, save)
print("ready", flush=True)
while True:
    time.sleep(1)
