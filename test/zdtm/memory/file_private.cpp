// SPDX-License-Identifier: GPL-2.0-only
#include <fcntl.h>

#include "zdtm.hpp"

ZDTM("a private file mapping keeps its changed pages and shows the file in the others") {
    const std::size_t page = zdtm::page_size();
    const std::span<std::byte> original = zdtm::map(8 * page);
    zdtm::fill(original, 1);
    zdtm::write_file("data", std::string(reinterpret_cast<const char*>(original.data()), original.size()));
    const int file = SYS(open("data", O_RDWR));
    const std::span<std::byte> memory = zdtm::map(8 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE, file);
    zdtm::fill(memory.subspan(2 * page, page), 2);
    zdtm::touch(memory.subspan(4 * page, page));
    me.wait_for_check();

    CHECK(memcmp(memory.data(), original.data(), 2 * page) == 0, "an unchanged page differs");
    CHECK(zdtm::first_difference(memory.subspan(2 * page, page), 2) < 0, "the changed page is lost");
    CHECK(memcmp(&memory[3 * page], &original[3 * page], 5 * page) == 0, "an unchanged page differs");
    // Pages that were never written are pages of the file, so later writes to the file appear there.
    const std::byte mark{0x77};
    SYS(pwrite(file, &mark, 1, static_cast<off_t>(5 * page)));
    SYS(pwrite(file, &mark, 1, static_cast<off_t>(2 * page)));
    CHECK(memory[5 * page] == mark, "an unwritten page is a copy");
    CHECK(zdtm::first_difference(memory.subspan(2 * page, page), 2) < 0, "the changed page is the file's");
}
