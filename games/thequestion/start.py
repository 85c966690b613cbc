"""Starts Ren'Py from the directory of this file, because Debian's start file works only in its original folder."""
import os
import sys

here = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, here)

import renpy_main  # Debian's start file, renamed


def path_to_renpy_base():
    return here


renpy_main.path_to_renpy_base = path_to_renpy_base  # a named function, because Ren'Py pickles what it finds in its modules

if __name__ == "__main__":
    renpy_main.main()
