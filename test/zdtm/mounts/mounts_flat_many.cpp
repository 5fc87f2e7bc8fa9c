// SPDX-License-Identifier: GPL-2.0-only
// zdtm: modes once
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include "mounts.hpp"
#include "zdtm.hpp"

ZDTM("two thousand sibling mounts of directories of one file system, some with peers, some with masters") {
    constexpr int kCount = 2000;
    zdtm::enter_small_root();
    zdtm::mount_on("/mnt", "tmpfs");
    SYS(mkdir("/mnt/of", 0755));
    SYS(mkdir("/mnt/on", 0755));
    for (int number = 0; number < kCount; ++number) {
        const std::string name = std::to_string(number);
        SYS(mkdir(("/mnt/of/" + name).c_str(), 0755));
        zdtm::bind_on("/mnt/of/" + name, "/mnt/on/" + name);
        if (number % 100 == 10)
            zdtm::propagate("/mnt/on/" + name, MS_SHARED);
        if (number % 100 == 20)
            zdtm::bind_on("/mnt/on/" + std::to_string(number - 10), "/mnt/on/peer-" + name);
        if (number % 100 == 30) {
            zdtm::bind_on("/mnt/on/" + std::to_string(number - 20), "/mnt/on/slave-" + name);
            zdtm::propagate("/mnt/on/slave-" + name, MS_SLAVE);
        }
    }
    zdtm::write_file("/mnt/on/1234/file", "far behind");
    const int file = SYS(open("/mnt/on/1234/file", O_RDONLY));
    const auto before = zdtm::mount_lines();
    me.wait_for_check();
    zdtm::check_mounts(before);
    char text[16] = {};
    SYS(pread(file, text, sizeof(text) - 1, 0));
    CHECK(std::string(text) == "far behind", "the file has %s", text);
}
