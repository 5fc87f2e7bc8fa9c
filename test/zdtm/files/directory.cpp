// SPDX-License-Identifier: GPL-2.0-only
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <set>

#include "zdtm.hpp"

ZDTM("an open directory at offset 0 lists its entries, and openat(2) finds them") {
    SYS(mkdir("folder", 0755));
    for (const char* name : {"a", "b", "c"}) {
        zdtm::write_file(std::string("folder/") + name, name);
    }
    const int folder = SYS(open("folder", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    me.wait_for_check();

    const int file = SYS(openat(folder, "b", O_RDONLY));
    char byte = 0;
    CHECK(read(file, &byte, 1) == 1 && byte == 'b', "read %c", byte);
    DIR* const listing = fdopendir(folder);
    CHECK(listing != nullptr, "%s", strerror(errno));
    std::set<std::string> names;
    while (const dirent* const entry = readdir(listing)) {
        names.insert(entry->d_name);
    }
    CHECK(names == (std::set<std::string>{".", "..", "a", "b", "c"}), "%zu entries", names.size());
}
