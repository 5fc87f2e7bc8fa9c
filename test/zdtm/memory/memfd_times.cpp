// SPDX-License-Identifier: GPL-2.0-only
// zdtm: fails-with-4.2 its images have no place for them
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "zdtm.hpp"

namespace {

bool same(const timespec& one, const timespec& other) {
    return one.tv_sec == other.tv_sec && one.tv_nsec == other.tv_nsec;
}

}  // namespace

ZDTM("access and modification times of memfds") {
    const std::size_t size = 64 * zdtm::page_size();
    const int written = SYS(memfd_create("written", MFD_CLOEXEC));
    const int sealed = SYS(memfd_create("sealed", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    const int empty = SYS(memfd_create("empty", MFD_CLOEXEC));
    for (const int fd : {written, sealed}) {
        SYS(ftruncate(fd, static_cast<off_t>(size)));
        SYS(pwrite(fd, "content", 7, 4096));
    }
    SYS(fcntl(sealed, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK));
    const auto memory = zdtm::map(size, PROT_READ | PROT_WRITE, MAP_SHARED, written);
    zdtm::fill(memory, 1);
    const timespec times[] = {{1'000'000'000, 123'456'789}, {1'234'567'890, 987'654'321}};
    struct stat before[3];
    const int all[] = {written, sealed, empty};
    for (int i = 0; i < 3; ++i) {
        if (i > 0) {
            SYS(futimens(all[i], times));
        }
        SYS(fstat(all[i], &before[i]));
    }
    me.wait_for_check();
    for (int i = 0; i < 3; ++i) {
        struct stat now {};
        SYS(fstat(all[i], &now));
        CHECK(same(now.st_mtim, before[i].st_mtim), "memfd %d was written at %ld", i, now.st_mtim.tv_sec);
        CHECK(same(now.st_atim, before[i].st_atim), "memfd %d was read at %ld", i, now.st_atim.tv_sec);
    }
    CHECK(zdtm::first_difference(memory, 1) < 0, "the data changed");
}
