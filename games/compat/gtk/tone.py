"""Writes a tone of two seconds to a WAV file."""

import array
import math
import sys
import wave

rate = 44100
samples = array.array("h", (int(6000 * math.sin(440 * 2 * math.pi * i / rate)) for i in range(2 * rate)))
with wave.open(sys.argv[1], "wb") as file:
    file.setnchannels(1)
    file.setsampwidth(2)
    file.setframerate(rate)
    file.writeframes(samples.tobytes())
