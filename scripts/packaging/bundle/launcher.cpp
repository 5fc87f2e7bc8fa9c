// SPDX-License-Identifier: GPL-2.0-only
// Launcher of the programs of a bundle (scripts/packaging/build-bundle). The bundle has a copy of it in bin/ and
// libexec/ for each program. The copy is linked statically, so it runs on hosts with any C library. It executes the
// bundle's dynamic linker, because the kernel takes a program's own dynamic linker from a fixed path of the host.
#include <fcntl.h>
#include <sys/auxv.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace {

[[noreturn]] void fail(const char* name, const std::string& text) {
    std::fprintf(stderr, "%s: %s\n", name, text.c_str());
    constexpr int kCannotRun = 126;  // the exit status of shells for a program that can't run
    std::_Exit(kCannotRun);
}

/// Returns the absolute path of this launcher, without symbolic links. Empty if /proc isn't mounted.
std::string ownPath() {
    char path[PATH_MAX];
    const ssize_t length = ::readlink("/proc/self/exe", path, sizeof path);
    if (length <= 0 || static_cast<std::size_t>(length) == sizeof path)
        return {};
    return {path, static_cast<std::size_t>(length)};
}

bool isScript(const std::string& path) {
    const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    char start[2] = {};
    const bool got = file >= 0 && ::read(file, start, sizeof start) == static_cast<ssize_t>(sizeof start);
    if (file >= 0)
        ::close(file);
    return got && start[0] == '#' && start[1] == '!';
}

}  // namespace

int main(int argc, char* argv[]) {
    const char* const called = argc > 0 ? argv[0] : "criu";
    // The kernel gives the privileges to this launcher only. The user could make the dynamic linker load any library
    // if the launcher passed them on.
    if (::getauxval(AT_SECURE) != 0)
        fail(called,
             "a program of a bundle can't have a set-user-ID bit or file capabilities; use ambient capabilities");
    const std::string self = ownPath();
    const std::size_t name = self.rfind('/');
    const std::size_t folder = name == std::string::npos || name == 0 ? name : self.rfind('/', name - 1);
    if (folder == std::string::npos)
        fail(called, "a bundle needs /proc mounted, to find its own folder");
    const std::string root = self.substr(0, folder);
    // The dynamic linker takes these characters for separators of folders and for start of a variable.
    if (root.find_first_of(":;$") != std::string::npos)
        fail(called, "a path with : or ; or $ can't hold a bundle: " + root);

    const std::string program = root + "/lib/programs" + self.substr(name);
    const std::string linker = root + "/lib/run" + self.substr(name);
    // Drivers of GPUs may be in folders of $LD_LIBRARY_PATH. The dynamic linker ignores the variable when it gets this
    // option.
    std::string folders = root + "/lib";
    if (const char* const more = std::getenv("LD_LIBRARY_PATH"); more != nullptr && *more != '\0')
        folders.append(":").append(more);
    std::vector<std::string> words{linker, "--library-path", folders, "--argv0"};
    if (isScript(program)) {
        // Python finds its modules by its path. -I keeps out modules of the host, which may be of another version.
        const std::string python = root + "/lib/programs/python3";
        words.insert(words.end(), {python, python, "-I", program});
    } else {
        words.insert(words.end(), {called, program});
    }
    for (int i = 1; i < argc; ++i)
        words.emplace_back(argv[i]);
    std::vector<char*> pointers;
    for (std::string& word : words)
        pointers.push_back(word.data());
    pointers.push_back(nullptr);
    ::execv(linker.c_str(), pointers.data());
    fail(called, "run " + linker + ": " + std::strerror(errno));
}
