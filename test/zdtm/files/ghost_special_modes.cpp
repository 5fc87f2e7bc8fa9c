// SPDX-License-Identifier: GPL-2.0-only
#include <fcntl.h>
#include <sys/stat.h>

#include <iterator>

#include "zdtm.hpp"

namespace {
// A write or chown(2) clears the set-user-id and set-group-id bits, so files have content.
constexpr mode_t kModes[] = {04755, 02755, 01644, 07777, 02644};
}  // namespace

ZDTM("set-user-id, set-group-id and sticky bits of deleted files and directories") {
    int files[std::size(kModes)];
    for (std::size_t i = 0; i < std::size(kModes); ++i) {
        zdtm::write_file("gone", "content");
        SYS(chown("gone", 12, 34));
        SYS(chmod("gone", kModes[i]));
        files[i] = SYS(open("gone", O_RDONLY));
        SYS(unlink("gone"));
    }
    SYS(mkdir("directory", 0700));
    SYS(chmod("directory", 03771));
    const int directory = SYS(open("directory", O_RDONLY | O_DIRECTORY));
    SYS(rmdir("directory"));
    me.wait_for_check();

    struct stat info {};
    for (std::size_t i = 0; i < std::size(kModes); ++i) {
        SYS(fstat(files[i], &info));
        CHECK((info.st_mode & 07777) == kModes[i], "mode 0%o instead of 0%o", info.st_mode & 07777, kModes[i]);
    }
    SYS(fstat(directory, &info));
    CHECK((info.st_mode & 07777) == 03771, "mode 0%o of the directory", info.st_mode & 07777);
}
