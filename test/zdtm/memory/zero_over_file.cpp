// SPDX-License-Identifier: GPL-2.0-only
// zdtm: fails-with-4.2 it takes the zero page for an untouched page, so the content of the file appears
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>

#include "zdtm.hpp"

ZDTM("the kernel's zero page in a private mapping of a file with content") {
    const std::size_t page = zdtm::page_size();
    const std::size_t size = 8 * page;
    const int file = SYS(memfd_create("content", 0));
    SYS(ftruncate(file, static_cast<off_t>(size)));
    void* const shared = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    CHECK(shared != MAP_FAILED, "%s", strerror(errno));
    zdtm::fill({static_cast<std::byte*>(shared), size}, 1);
    void* const mapped = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE, file, 0);
    CHECK(mapped != MAP_FAILED, "%s", strerror(errno));
    auto* const memory = static_cast<std::byte*>(mapped);
    // UFFDIO_ZEROPAGE maps the zero page. KSM and lazy restores do so, too.
    const auto faults = static_cast<int>(syscall(SYS_userfaultfd, O_CLOEXEC));
    if (faults < 0)
        zdtm::skip("the kernel allows no userfaultfd: %s", strerror(errno));
    uffdio_api api{UFFD_API, 0, 0};
    SYS(ioctl(faults, UFFDIO_API, &api));
    uffdio_register area{{reinterpret_cast<std::uint64_t>(memory), size}, UFFDIO_REGISTER_MODE_MISSING, 0};
    SYS(ioctl(faults, UFFDIO_REGISTER, &area));
    uffdio_zeropage zero{{reinterpret_cast<std::uint64_t>(memory + 2 * page), page}, 0, 0};
    SYS(ioctl(faults, UFFDIO_ZEROPAGE, &zero));
    SYS(close(faults));
    CHECK(memory[2 * page] == std::byte{} && memory[2 * page + 1] == std::byte{}, "no zero page");
    me.wait_for_check();

    for (std::size_t at = 2 * page; at < 3 * page; ++at)
        CHECK(memory[at] == std::byte{}, "byte %zu is %d", at, static_cast<int>(memory[at]));
    CHECK(zdtm::first_difference({memory, 2 * page}, 1) < 0, "the file's content has changed");
}
