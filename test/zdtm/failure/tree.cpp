// SPDX-License-Identifier: GPL-2.0-only
// zdtm: modes once,terminated,killed,pid-taken,pid-ending,image-damaged,image-flipped,full-disk,storage-fails,storage-vanishes,parent-damaged,deaf-page-server,silent-sender,strange-content,stream-zstd,stream-damaged,stream-peers,encrypted,encrypted-certified,encrypted-damaged,signed-chain,encrypted-chain,encrypted-page-server,outer-session,restore-terminated
// zdtm: dump-options --link-remap
#include <fcntl.h>

#include "threads.hpp"
#include "zdtm.hpp"

ZDTM("failures of a tree with threads, a pipe, a ghost file, a link remap and shared memory") {
    const std::span<std::byte> own = zdtm::map(std::size_t{8} << 20);
    const std::span<std::byte> shared =
        zdtm::map(std::size_t{1} << 20, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS);
    zdtm::fill(own, 1);
    zdtm::fill(shared, 2);
    int ends[2];
    SYS(pipe(ends));
    CHECK(write(ends[1], "data", 4) == 4, "%s", strerror(errno));
    zdtm::write_file("ghost", "ghost");
    const int ghost = SYS(open("ghost", O_RDWR));
    SYS(unlink("ghost"));
    zdtm::write_file("name", "linked");
    const int linked = SYS(open("name", O_RDWR));
    SYS(link("name", "other"));
    SYS(unlink("name"));
    zdtm::Threads threads(
        3, [](unsigned) {}, [](unsigned) {});
    pid_t children[3] = {};
    for (pid_t& child : children) {
        child = me.start_child([&](zdtm::Task& task) {
            task.wait_for_check();
            CHECK(zdtm::first_difference(shared, 2) < 0, "shared data changed");
            char text[8] = {};
            CHECK(pread(ghost, text, 5, 0) == 5 && strcmp(text, "ghost") == 0, "read %s", text);
        });
    }
    me.wait_for_check();

    CHECK(zdtm::first_difference(own, 1) < 0, "private data changed");
    char text[8] = {};
    CHECK(read(ends[0], text, 4) == 4 && strcmp(text, "data") == 0, "read %s", text);
    CHECK(pread(linked, text, 6, 0) == 6 && strcmp(text, "linked") == 0, "read %s", text);
    for (const pid_t child : children) {
        me.finish(child);
    }
    threads.finish();
}
