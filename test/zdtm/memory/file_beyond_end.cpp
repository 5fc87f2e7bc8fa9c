// SPDX-License-Identifier: GPL-2.0-only
#include <fcntl.h>
#include <setjmp.h>

#include "zdtm.hpp"

namespace {
sigjmp_buf on_bus_error;

void bus_error(int) {
    siglongjmp(on_bus_error, 1);
}
}  // namespace

ZDTM("a mapping that is longer than its file") {
    const std::size_t page = zdtm::page_size();
    zdtm::write_file("data", std::string(page / 2, 'a'));
    const int file = SYS(open("data", O_RDWR));
    const std::span<std::byte> shared = zdtm::map(4 * page, PROT_READ | PROT_WRITE, MAP_SHARED, file);
    const std::span<std::byte> own = zdtm::map(4 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE, file);
    own[1] = std::byte{'b'};
    me.wait_for_check();

    CHECK(shared[0] == std::byte{'a'} && own[0] == std::byte{'a'} && own[1] == std::byte{'b'}, "the content changed");
    signal(SIGBUS, bus_error);
    if (sigsetjmp(on_bus_error, 1) == 0) {
        zdtm::touch(own.last(page));
        CHECK(false, "no SIGBUS beyond the end of the file");
    }
    SYS(ftruncate(file, static_cast<off_t>(4 * page)));
    CHECK(own[3 * page] == std::byte{} && shared[3 * page] == std::byte{}, "the grown file isn't seen");
}
