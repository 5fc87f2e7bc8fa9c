// SPDX-License-Identifier: GPL-2.0-only
#include <fcntl.h>
#include <sys/resource.h>

#include <vector>

#include "zdtm.hpp"

ZDTM("1,000 open files with gaps between the numbers, and one at the end of the descriptor table") {
    rlimit limit{};
    SYS(getrlimit(RLIMIT_NOFILE, &limit));
    limit.rlim_cur = limit.rlim_max;
    SYS(setrlimit(RLIMIT_NOFILE, &limit));
    if (limit.rlim_cur <= 16000) {
        zdtm::skip("only %lu files allowed", static_cast<unsigned long>(limit.rlim_cur));
    }
    std::vector<int> files;
    for (int i = 0; i < 1000; ++i) {
        const std::string name = "file" + std::to_string(i % 100);
        if (i < 100) {
            zdtm::write_file(name, std::string(200, static_cast<char>('a' + i % 26)));
        }
        files.push_back(SYS(open(name.c_str(), O_RDONLY)));
        SYS(lseek(files.back(), i % 150, SEEK_SET));
    }
    for (std::size_t i = 0; i < 1000; i += 3) {
        SYS(close(files[i]));
    }
    const int high = SYS(fcntl(files[1], F_DUPFD, 15000));
    me.wait_for_check();

    for (int i = 0; i < 1000; ++i) {
        const int fd = files[static_cast<std::size_t>(i)];
        if (i % 3 == 0) {
            CHECK(fcntl(fd, F_GETFD) == -1 && errno == EBADF, "descriptor %d is open", fd);
            continue;
        }
        CHECK(lseek(fd, 0, SEEK_CUR) == i % 150, "file %d: offset %ld", i, lseek(fd, 0, SEEK_CUR));
        char byte = 0;
        CHECK(pread(fd, &byte, 1, 0) == 1 && byte == 'a' + i % 100 % 26, "file %d: read %c", i, byte);
    }
    SYS(lseek(high, 77, SEEK_SET));
    CHECK(lseek(files[1], 0, SEEK_CUR) == 77, "descriptor %d is not the dup it was", high);
}
