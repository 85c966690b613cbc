"""A game with pygame: it prints each input that it takes, plays a tone, and saves the number of its sessions."""

import array
import math
import pathlib
import sys

import pygame

sys.stdout.reconfigure(line_buffering=True)
pygame.mixer.pre_init(44100, -16, 1)
pygame.init()
screen = pygame.display.set_mode((1280, 720), pygame.FULLSCREEN)
pygame.mouse.set_visible(False)
pygame.event.set_grab(True)
save = pathlib.Path.home() / ".compat" / "save.txt"
save.parent.mkdir(exist_ok=True)
before = int(save.read_text()) if save.exists() else 0
print("sessions", before)
save.write_text(str(before + 1))
tone = array.array("h", (int(6000 * math.sin(440 * 2 * math.pi * i / 44100)) for i in range(44100)))
pygame.mixer.Sound(buffer=tone).play(loops=-1)
pads = {}
clock, frame, running = pygame.time.Clock(), 0, True
while running:
    for event in pygame.event.get():
        if event.type == pygame.QUIT:
            running = False
        elif event.type == pygame.KEYDOWN:
            print("key", pygame.key.name(event.key))
        elif event.type == pygame.MOUSEMOTION:
            print("look", *event.rel)
        elif event.type == pygame.JOYDEVICEADDED:
            pads[event.device_index] = pygame.joystick.Joystick(event.device_index)
        elif event.type == pygame.JOYBUTTONDOWN:
            print("pad", event.button)
            for pad in pads.values():
                pad.rumble(0.5, 0.5, 500)
    frame += 1
    screen.fill((20, 40, 90))
    screen.fill((240, 160, 40), (200 + frame % 300, 200, 300, 300))
    pygame.display.flip()
    clock.tick(60)
print("bye")
