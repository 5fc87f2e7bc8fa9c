// SPDX-License-Identifier: GPL-2.0-only
#include "zdtm.hpp"

ZDTM("data behind PROT_NONE and PROT_READ is kept, guard pages have no access, code runs") {
    const std::size_t page = zdtm::page_size();
    const std::span<std::byte> memory = zdtm::map(16 * page);
    zdtm::fill(memory, 1);
    // Makes separate mappings: rw, guard, r, none, rw.
    SYS(mprotect(&memory[4 * page], page, PROT_NONE));
    SYS(mprotect(&memory[5 * page], 3 * page, PROT_READ));
    SYS(mprotect(&memory[8 * page], 4 * page, PROT_NONE));
    const std::span<std::byte> code = zdtm::map(page);
#if defined(__aarch64__)
    // mov w0, #42; ret
    const unsigned char instructions[] = {0x40, 0x05, 0x80, 0x52, 0xc0, 0x03, 0x5f, 0xd6};
#else
    // mov $42, %eax; ret
    const unsigned char instructions[] = {0xb8, 42, 0, 0, 0, 0xc3};
#endif
    memcpy(code.data(), instructions, sizeof instructions);
    SYS(mprotect(code.data(), page, PROT_READ | PROT_EXEC));
    me.wait_for_check();

    int ends[2];
    SYS(pipe(ends));
    // The kernel returns EFAULT for memory without the permission.
    CHECK(write(ends[1], &memory[4 * page], 1) == -1 && errno == EFAULT, "the guard page can be read");
    CHECK(write(ends[1], &memory[8 * page], 1) == -1 && errno == EFAULT, "PROT_NONE can be read");
    CHECK(write(ends[1], "x", 1) == 1 && read(ends[0], &memory[5 * page], 1) == -1 && errno == EFAULT,
          "PROT_READ can be written");
    SYS(mprotect(memory.data(), memory.size(), PROT_READ | PROT_WRITE));
    const ssize_t wrong = zdtm::first_difference(memory, 1);
    CHECK(wrong < 0, "byte %zd differs", wrong);
    const int answer = reinterpret_cast<int (*)()>(code.data())();
    CHECK(answer == 42, "the code returned %d", answer);
}
