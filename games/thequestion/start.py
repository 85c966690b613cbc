"""Starts Ren'Py from the directory of this file: Debian's start file works only in Debian's own folder."""
import os
import sys

here = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, here)

import renpy_main  # Debian's start file, unchanged but for its name


def path_to_renpy_base():
    return here


renpy_main.path_to_renpy_base = path_to_renpy_base  # a named function: Ren'Py pickles what it finds in its modules

if __name__ == "__main__":
    renpy_main.main()
