// SPDX-License-Identifier: GPL-2.0-only
// zdtm: also damaged
#include <fcntl.h>

#include "zdtm.hpp"

ZDTM("mappings of a deleted file, shared between two tasks") {
    const std::size_t size = 8 * zdtm::page_size();
    zdtm::write_file("data", std::string(size, 'a'));
    const int file = SYS(open("data", O_RDWR));
    const std::span<std::byte> shared = zdtm::map(size, PROT_READ | PROT_WRITE, MAP_SHARED, file);
    const std::span<std::byte> own = zdtm::map(size, PROT_READ | PROT_WRITE, MAP_PRIVATE, file);
    SYS(close(file));
    SYS(unlink("data"));
    zdtm::fill(shared.last(size / 2), 1);
    own[0] = std::byte{'b'};
    const pid_t child = me.start_child([&](zdtm::Task& task) {
        task.wait_for_check();
        CHECK(shared[0] == std::byte{'c'}, "not the same file any more");
    });
    me.wait_for_check();

    CHECK(zdtm::first_difference(shared.last(size / 2), 1) < 0, "the shared data changed");
    CHECK(own[0] == std::byte{'b'} && own[1] == std::byte{'a'}, "the private data changed");
    CHECK(zdtm::first_difference(own.last(size / 2), 1) < 0, "the private mapping shows another file");
    CHECK(shared[0] == std::byte{'a'}, "the shared data changed");
    shared[0] = std::byte{'c'};
    me.finish(child);
    CHECK(access("data", F_OK) == -1 && errno == ENOENT, "the deleted file has a name");
}
