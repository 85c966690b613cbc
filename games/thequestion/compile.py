"""Compiles the scripts when the game is packed, so that they are not parsed at every start.

Debian's Ren'Py reads compiled scripts but cannot write them. This writes each parsed script in that format: a header, the
statements in both slots, and the checksum of the source.
"""
import hashlib
import marshal
import os
import sys
import time

# Makes builds reproducible: names and serial numbers of statements come from the clock, and only version 2 of
# Python's code format is independent of the objects' reference counts.
time.time = lambda: 0
write_code = marshal.dumps
marshal.dumps = lambda code, version=2: write_code(code, 2)

sys.path.insert(0, os.getcwd())

import thequestion  # sets the base directory
import renpy


def compiled_path(source):
    return source[:-len("_ren.py")] + ".rpyc" if source.endswith("_ren.py") else source + "c"


def checksum(path):
    with open(path, "rb") as source:
        return hashlib.md5(source.read()).digest()


def write_compiled_scripts(script):
    load = script.Script.load_file

    def load_and_write(self, directory, name):
        data, statements = load(self, directory, name)
        if directory and data is not None and name.endswith((".rpy", ".rpym", "_ren.py")):
            source = os.path.join(directory, name)
            dump = script.dumps((data, statements))
            with open(compiled_path(source), "wb+") as compiled:
                self.write_rpyc_header(compiled)
                for slot in (1, 2):
                    self.write_rpyc_data(compiled, slot, dump)
                self.write_rpyc_md5(compiled, checksum(source))
        return data, statements

    script.Script.load_file = load_and_write


import_all = renpy.import_all


def import_all_and_patch():
    import_all()
    write_compiled_scripts(renpy.script)


renpy.import_all = import_all_and_patch
sys.argv = [os.path.abspath("thequestion.py"), os.getcwd(), "compile"]
thequestion.renpy_main.main()
