#!/usr/bin/env python3
"""Makes a wheel with the library and the worker in it, without network: wheel.py DIR

Run on the platform that the wheel is for; what is built is in no need of anything but libc and numpy."""

import base64
import hashlib
import os
import re
import stat
import subprocess
import sys
import sysconfig
import tempfile
import zipfile

here = os.path.dirname(os.path.abspath(__file__))


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: wheel.py DIR")
    package = os.path.join(here, "python", "tropica")
    with open(os.path.join(package, "__init__.py")) as f:
        version = re.search(r'__version__ = "(.*)"', f.read()).group(1)
    platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
    os.makedirs(sys.argv[1], exist_ok=True)
    path = os.path.join(sys.argv[1], "tropica-%s-py3-none-%s.whl" % (version, platform))
    info = "tropica-%s.dist-info/" % version
    with tempfile.TemporaryDirectory() as built:
        subprocess.run([os.path.join(here, "build.sh"), built], check=True)
        files = [(os.path.join(package, name), "tropica/" + name) for name in sorted(os.listdir(package)) if name.endswith((".py", "py.typed"))]
        files += [(os.path.join(built, name), "tropica/" + name) for name in sorted(os.listdir(built))]
        files.append((os.path.join(here, "..", "..", "LICENSE"), info + "LICENSE"))
        record = []
        part = path + ".part"
        with zipfile.ZipFile(part, "w", zipfile.ZIP_DEFLATED) as z:
            def add(name, data, mode):
                entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
                entry.external_attr = (stat.S_IFREG | mode) << 16  # without the kind of file, pip drops the right to run
                entry.compress_type = zipfile.ZIP_DEFLATED
                z.writestr(entry, data)
                digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
                record.append("%s,sha256=%s,%d" % (name, digest, len(data)))

            for source, name in files:
                with open(source, "rb") as f:
                    add(name, f.read(), 0o755 if name == "tropica/fst" else 0o644)
            add(info + "METADATA", (
                "Metadata-Version: 2.1\nName: tropica\nVersion: %s\n"
                "Summary: Exact gradients of sequence losses: edit distances, n-gram losses, any transducer\n"
                "License: Apache-2.0\nRequires-Python: >=3.9\nRequires-Dist: numpy\n" % version).encode(), 0o644)
            add(info + "WHEEL", ("Wheel-Version: 1.0\nGenerator: wheel.py\nRoot-Is-Purelib: false\nTag: py3-none-%s\n" % platform).encode(), 0o644)
            lines = "\n".join(record) + "\n%sRECORD,,\n" % info
            z.writestr(zipfile.ZipInfo(info + "RECORD", (1980, 1, 1, 0, 0, 0)), lines)
    os.replace(part, path)
    print(path)


main()
