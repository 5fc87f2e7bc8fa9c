# SPDX-License-Identifier: GPL-2.0-only
"""Packs what the tests need for a machine that has no compiler of C++ and no packages: programs, libraries, the tree.

The archive must be unpacked at the root of the file system, because programs of the build know their folder.
"""

import os
import re
import subprocess

HERE = os.path.dirname(os.path.abspath(__file__))
# Libraries that criu opens when it needs them.
OPENED = ("libzstd.so.1", "libxxhash.so.0", "libgnutls.so.30", "libnftables.so.1", "libarchive.so.13", "liblz4.so.1", "libgcrypt.so.20")
NOT_CARRIED = re.compile(r"/(ld-linux|libc|libm|libdl|libpthread|librt|libresolv|libgcc_s|libstdc\+\+)[-.]")
# Files of the build that only the compiler or linker reads.
SKIPPED = re.compile(r"(^|/)(CMakeFiles|.*_batches|static_runtime|amdgpu-sim|bench|programs/CMakeFiles|check|Testing|deb|bundle)(/|$)"
                     r"|\.(o|gch|ninja|cmake)$|(^|/)(\.ninja_\w+|compile_commands\.json)$|^images/|^lib[a-z_]*\.a$|^(criu|plugins|test)/.*\.a$")
OF_TREE = ("test", "lib", "scripts", "compel", "images", "Documentation", "plugins", "README.md", "CMakeLists.txt")


def libraries():
    """Returns the paths of the opened libraries and of their dependencies."""
    listed = subprocess.run(["/sbin/ldconfig", "-p"], check=True, stdout=subprocess.PIPE, text=True).stdout
    where = {}
    for name, path in re.findall(r"^\s*(\S+) \(libc6,x86-64.*\) => (\S+)$", listed, re.MULTILINE):
        where.setdefault(name, path)
    found = set()
    for name in OPENED:
        if name not in where:
            continue
        found.add(where[name])
        needed = subprocess.run(["ldd", where[name]], check=True, stdout=subprocess.PIPE, text=True).stdout
        found |= set(re.findall(r"=> (/\S+)", needed))
    return sorted(path for path in found if not NOT_CARRIED.search(path))


def pack(out, archive):
    """Writes the archive."""
    names = []
    build = os.path.join(out, "build")
    for folder, folders, files in os.walk(build):
        relative = os.path.relpath(folder, build)
        folders[:] = [name for name in folders if not SKIPPED.search(os.path.normpath(os.path.join(relative, name)))]
        for name in files:
            path = os.path.normpath(os.path.join(relative, name))
            if not SKIPPED.search(path):
                names.append(os.path.join(build, path))
    names += [os.path.join(out, "tree", name) for name in OF_TREE]
    names += [os.path.join(out, name) for name in ("mutants.json", "tests.json", "results.json") if os.path.exists(os.path.join(out, name))]
    folder = os.path.join(out, "libraries")
    subprocess.run(["rm", "-rf", folder], check=True)
    os.makedirs(folder)
    for path in libraries():
        subprocess.run(["cp", "-L", path, os.path.join(folder, os.path.basename(path))], check=True)
    names.append(folder)
    subprocess.run(["tar", "--create", "--file", archive, "--use-compress-program", "xz -T2 -6", "--directory", "/", "--exclude", "__pycache__",
                    "--null", "--files-from", "-"], check=True, input="\0".join(name.lstrip("/") for name in names).encode())
    print(f"{archive}: {os.path.getsize(archive) / 1e6:.1f} MB. Unpack it with tar -C / -xf.")


def place_libraries(out):
    """Copies carried libraries that this machine doesn't have to /usr/local/lib."""
    listed = subprocess.run(["/sbin/ldconfig", "-p"], check=True, stdout=subprocess.PIPE, text=True).stdout
    known = set(re.findall(r"^\s*(\S+) \(", listed, re.MULTILINE))
    missing = [name for name in sorted(os.listdir(os.path.join(out, "libraries"))) if name not in known]
    for name in missing:
        subprocess.run(["cp", os.path.join(out, "libraries", name), "/usr/local/lib/"], check=True)
    subprocess.run(["/sbin/ldconfig"], check=True)
    print(f"placed: {' '.join(missing) or 'nothing'}")
