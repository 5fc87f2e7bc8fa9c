# SPDX-License-Identifier: GPL-2.0-only
"""Draws mistakes by a seed, plants them into a copy of the tree, and builds the copy.

The copy and its build are in one folder:

    tree/            copy of the tree; planted sources have all mistakes, of which a number selects one at run time
    build/           its build
    originals/       copies of the sources of drawn mistakes, without mistakes
    mutants.json     all mistakes that were drawn; those with "planted" are in the build
"""

import concurrent.futures
import json
import os
import random
import re
import shlex
import shutil
import subprocess
import sys

from clang import cindex

import sites

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
LIBRARIES = ("/usr/lib/llvm-14/lib/libclang-14.so.1", "/usr/lib/llvm-14/lib/libclang.so.1")
# Code that runs in other processes, without the C library.
FREESTANDING = re.compile(r"^(criu/pie/blob/|compel/src/blob/|compel/include/compel/blob/|compel/c/(arch/[a-z0-9]+/)?plugins/"
                          r"|compel/src/arch/[a-z0-9]+/blob_)")
LEFT_OUT = re.compile(r"/arch/aarch64/|^compel/test/")
FOLDERS = re.compile(r"^(criu/[^/]+|compel/[^/]+)/")
RUNTIME = "mutation_runtime.hpp"
LEAST = 3   # mistakes of a folder
MOST = 4    # mistakes of a file


def copy_tree(target):
    """Copies the files of the tree that git knows or doesn't ignore. Files of an earlier copy keep their times."""
    names = subprocess.run(["git", "-C", ROOT, "ls-files", "-z", "--cached", "--others", "--exclude-standard"], check=True,
                           capture_output=True).stdout.decode().split("\0")
    for name in filter(None, names):
        source, copy = os.path.join(ROOT, name), os.path.join(target, name)
        if not os.path.lexists(source):
            continue
        os.makedirs(os.path.dirname(copy), exist_ok=True)
        if os.path.islink(source):
            if not os.path.lexists(copy):
                os.symlink(os.readlink(source), copy)
            continue
        with open(source, "rb") as file:
            write_if_changed(copy, file.read())
        shutil.copymode(source, copy)


def write_if_changed(path, content):
    """Writes a file, and leaves its time unchanged if it has this content."""
    if os.path.exists(path):
        with open(path, "rb") as file:
            if file.read() == content:
                return
    with open(path, "wb") as file:
        file.write(content)


def configure(out):
    """Configures the build of the copy: less optimization for code with mistakes, so that it compiles sooner."""
    tree = os.path.join(out, "tree")
    for path, target in (("criu/CMakeLists.txt", "criucore"), ("compel/CMakeLists.txt", "compel"),
                         ("plugins/amdgpu/CMakeLists.txt", "amdgpu"), ("plugins/cuda/CMakeLists.txt", "cuda")):
        with open(os.path.join(ROOT, path), "rb") as file:
            content = file.read()
        write_if_changed(os.path.join(tree, path), content + f"\ntarget_compile_options({target} PRIVATE -O1 -g0)\n".encode())
    for folder in ("", "compel/include"):
        shutil.copyfile(os.path.join(HERE, "runtime.hpp"), os.path.join(tree, folder, RUNTIME))
    # The copy has no commit.
    subprocess.run(["cmake", "-S", tree, "-B", os.path.join(out, "build"), "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release",
                    "-DCRIU_TESTS=ON", "-DCRIU_WERROR=OFF"], check=True, stdout=subprocess.DEVNULL,
                   env={**os.environ, "GIT_DIR": "/nonexistent"})


def ninja(out, jobs, *words):
    """Builds. Returns the exit status and the output."""
    done = subprocess.run(["nice", "-n", "10", "ninja", "-C", os.path.join(out, "build"), f"-j{jobs}", *words], check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
    return done.returncode, done.stdout


def arguments_of_clang(out):
    """Returns the arguments that let clang parse all sources."""
    with open(os.path.join(out, "build", "compile_commands.json"), encoding="utf-8") as file:
        commands = [shlex.split(entry["command"]) for entry in json.load(file)]
    found = set()
    for words in commands:
        for number, word in enumerate(words):
            if word.startswith(("-I", "-DCOMPEL_")):
                found.add(word)
            if word == "-isystem":
                found.add("-isystem" + words[number + 1])
    return sorted(found) + ["-std=c++20", "-D_GNU_SOURCE", "-xc++", "-include", os.path.join(ROOT, "scripts", "tidy-source-location.hpp"),
                            "-include", os.path.join(ROOT, "criu", "base", "pch.hpp")]


def code_at(text, at):
    """Returns the code of a line without its comment. It names a mistake in the file `equivalent`."""
    line = text[text.rfind(b"\n", 0, at) + 1:].split(b"\n", 1)[0]
    return line.decode().split("//")[0].strip()


def scan(job):
    """Returns a file's sites as dictionaries, and clang's errors."""
    tree, name, arguments = job
    if not cindex.Config.loaded:
        cindex.Config.set_library_file(next(path for path in LIBRARIES if os.path.exists(path)))
    scanner = sites.Scanner(os.path.join(tree, name), arguments)
    outside = "runs in other processes" if FREESTANDING.match(name) else ""
    return name, [{"file": name, "line": scanner.text.count(b"\n", 0, site.begin) + 1, "code": code_at(scanner.text, site.begin),
                   "begin": site.begin, "end": site.end, "operator": site.operator, "change": site.change, "form": site.form, "not planted": outside or site.compiled}
                  for site in scanner.sites], scanner.errors


class Draw:
    """Draws mistakes folder by folder. A folder gets a part by its number of lines, a file by its lines, too."""

    def __init__(self, out, seed, count, jobs):
        self.tree = os.path.join(out, "tree")
        self.random = random.Random(seed)
        self.arguments = arguments_of_clang(out)
        self.jobs = jobs
        self.scanned = {}
        self.folders = {}
        for base in ("criu", "compel"):
            for folder, _, names in sorted(os.walk(os.path.join(self.tree, base))):
                for name in sorted(names):
                    path = os.path.relpath(os.path.join(folder, name), self.tree)
                    if path.endswith((".cpp", ".hpp")) and name != RUNTIME and not LEFT_OUT.search(path) and FOLDERS.match(path):
                        with open(os.path.join(self.tree, path), "rb") as file:
                            lines = file.read().count(b"\n")
                        self.folders.setdefault(FOLDERS.match(path)[1], {})[path] = lines
        total = sum(sum(files.values()) for files in self.folders.values())
        spare = count - LEAST * len(self.folders)
        self.quota = {name: LEAST + int(spare * sum(files.values()) / total) for name, files in self.folders.items()}
        largest = sorted(self.quota, key=lambda name: -self.quota[name])
        for name in largest[:count - sum(self.quota.values())]:
            self.quota[name] += 1

    def run(self):
        """Returns the drawn mistakes, in the order in which each folder uses them."""
        orders = {}
        for folder, files in self.folders.items():
            # With spare files, for files without a site and for mistakes that don't compile.
            orders[folder] = self.random.choices(list(files), list(files.values()), k=2 * self.quota[folder] + 6)
        first = sorted({name for folder, order in orders.items() for name in order[:self.quota[folder] + 3]})
        with concurrent.futures.ProcessPoolExecutor(self.jobs) as pool:
            for number, (name, found, errors) in enumerate(pool.map(scan, [(self.tree, name, self.arguments) for name in first])):
                self.scanned[name] = found
                if errors:
                    print(f"clang: {errors[0]}", flush=True)
                if number % 20 == 19:
                    print(f"{number + 1} of {len(first)} sources scanned", flush=True)
        drawn = []
        for folder, order in orders.items():
            wanted = self.quota[folder] + max(1, self.quota[folder] // 8)
            for name in order:
                if sum(not site["not planted"] for site in drawn if site["folder"] == folder) >= wanted:
                    break
                if site := self._draw(name, drawn):
                    drawn.append({**site, "folder": folder})
        return drawn

    def _draw(self, name, drawn):
        """Draws a kind of mistake that the file has, and then a site of this kind."""
        if name not in self.scanned:
            self.scanned[name] = scan((self.tree, name, self.arguments))[1]
        here = [site for site in drawn if site["file"] == name]
        free = [site for site in self.scanned[name]
                if all(site["end"] <= other["begin"] or other["end"] <= site["begin"] for other in here)]
        if not free or len(here) >= MOST:
            return None
        kind = self.random.choice(sorted({site["operator"] for site in free}))
        return self.random.choice([site for site in free if site["operator"] == kind])


def plant(out, mutants):
    """Writes all sources that have planted mistakes."""
    tree = os.path.join(out, "tree")
    for name in {mutant["file"] for mutant in mutants}:
        with open(os.path.join(out, "originals", name), "rb") as file:
            text = file.read()
        here = sorted((mutant for mutant in mutants if mutant["file"] == name and mutant["planted"]), key=lambda item: -item["begin"])
        for mutant in here:
            old = text[mutant["begin"]:mutant["end"]]
            # One line with both forms, and then as many lines as before.
            new = " ".join(mutant["form"].replace("{number}", str(mutant["number"])).split("\n"))
            text = text[:mutant["begin"]] + new.encode() + b"\n" * old.count(b"\n") + text[mutant["end"]:]
        if here:
            first, rest = text.split(b"\n", 1)
            if not first.startswith(b"//"):
                raise ValueError(f"{name} doesn't begin with a comment")
            text = f"#include <{RUNTIME}>\n".encode() + rest
        write_if_changed(os.path.join(tree, name), text)


def choose(mutants, quota):
    """Marks the mistakes that are planted: of each folder the first ones that compile. Returns whether that changed."""
    changed = False
    for folder, count in quota.items():
        usable = [mutant for mutant in mutants if mutant["folder"] == folder and not mutant["not planted"]]
        for number, mutant in enumerate(usable):
            changed = changed or mutant["planted"] != (number < count)
            mutant["planted"] = number < count
        for mutant in mutants:
            if mutant["folder"] == folder and mutant["not planted"]:
                changed = changed or mutant["planted"]
                mutant["planted"] = False
    return changed


def drop_broken(out, mutants, output):
    """Marks mistakes that the compiler reports. Returns their number."""
    named = set()
    for found in re.finditer(r"^(?:In file included from )?(\S+?):(\d+)(?::\d+)?[:,]", output, re.MULTILINE):
        path = os.path.normpath(os.path.join(out, "build", found[1]))
        named.add((os.path.relpath(path, os.path.join(out, "tree")), int(found[2])))
    errors = {(os.path.relpath(os.path.normpath(os.path.join(out, "build", found[1])), os.path.join(out, "tree")), int(found[2]))
              for found in re.finditer(r"^(\S+?):(\d+):\d+: (?:fatal )?error:", output, re.MULTILINE)}
    for places in (errors, named):
        broken = [mutant for mutant in mutants if mutant["planted"] and
                  any(mutant["file"] == name and mutant["line"] <= line <= mutant["line"] + mutant["lines"] for name, line in places)]
        if not broken:
            broken = [mutant for mutant in mutants if mutant["planted"] and any(mutant["file"] == name for name, _ in places)]
        if broken:
            break
    for mutant in broken:
        mutant["not planted"] = "doesn't compile"
        print(f"{mutant['file']}:{mutant['line']}: {mutant['operator']}: doesn't compile", flush=True)
    for line in re.findall(r"^.*error: .*$", output, re.MULTILINE)[:20]:
        print(f"    {line}")
    return len(broken)


def store(out, document):
    """Writes mutants.json."""
    with open(os.path.join(out, "mutants.json.new"), "w", encoding="utf-8") as file:
        json.dump(document, file, indent=1, ensure_ascii=False)
    os.rename(os.path.join(out, "mutants.json.new"), os.path.join(out, "mutants.json"))


def load(out):
    """Reads mutants.json."""
    with open(os.path.join(out, "mutants.json"), encoding="utf-8") as file:
        return json.load(file)


def draw(out, seed, count, jobs):
    """Copies the tree and draws mistakes."""
    shutil.rmtree(os.path.join(out, "originals"), ignore_errors=True)
    os.makedirs(os.path.join(out, "tree"), exist_ok=True)
    copy_tree(os.path.join(out, "tree"))
    configure(out)
    # Headers that the build makes.
    status, output = ninja(out, jobs, "images", "interpreter", "namespace_init_blob", "compel_test_blob", "compel_daemon_blob")
    if status != 0:
        sys.exit(output)
    drawing = Draw(out, seed, count, jobs)
    mutants = drawing.run()
    for number, mutant in enumerate(mutants, 1):
        mutant.update(number=number, planted=False)
        original = os.path.join(out, "originals", mutant["file"])
        os.makedirs(os.path.dirname(original), exist_ok=True)
        shutil.copyfile(os.path.join(out, "tree", mutant["file"]), original)
        with open(original, "rb") as file:
            mutant["lines"] = file.read()[mutant["begin"]:mutant["end"]].count(b"\n")
    choose(mutants, drawing.quota)
    store(out, {"seed": seed, "count": count, "quota": drawing.quota, "mutants": mutants})


def build(out, jobs):
    """Plants the mistakes and builds; leaves out mistakes that don't compile, and plants others of the same folder."""
    document = load(out)
    mutants = document["mutants"]
    while True:
        choose(mutants, document["quota"])
        plant(out, mutants)
        store(out, document)
        status, output = ninja(out, jobs, "-k0")
        if status == 0:
            break
        if not drop_broken(out, mutants, output):
            sys.exit(output[-6000:])
    planted = [mutant for mutant in mutants if mutant["planted"]]
    reasons = {}
    for mutant in mutants:
        if mutant["not planted"]:
            reasons[mutant["not planted"]] = reasons.get(mutant["not planted"], 0) + 1
    print(f"{len(planted)} mistakes planted in {len({mutant['file'] for mutant in planted})} sources of "
          f"{len({mutant['folder'] for mutant in planted})} folders; drawn but not planted: "
          + (", ".join(f"{count} ({reason})" for reason, count in sorted(reasons.items())) or "none"))
