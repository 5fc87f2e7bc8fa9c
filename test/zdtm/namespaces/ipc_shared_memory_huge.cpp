// SPDX-License-Identifier: GPL-2.0-only
// zdtm: fails-with-4.2 it wants whole huge pages
#include <sched.h>
#include <sys/shm.h>

#include "zdtm.hpp"

namespace {

std::span<std::byte> attach(int id, std::size_t size) {
    void* const at = shmat(id, nullptr, 0);
    CHECK(at != reinterpret_cast<void*>(-1), "shmat: %s", strerror(errno));
    return {static_cast<std::byte*>(at), size};
}

}  // namespace

ZDTM("System V shared memory of huge pages: attached in two processes, or not attached") {
    constexpr std::size_t huge = std::size_t{2} << 20;
    constexpr std::size_t size = 2 * huge - 5000;
    SYS(unshare(CLONE_NEWIPC));
    const int attached = shmget(IPC_PRIVATE, size, IPC_CREAT | SHM_HUGETLB | 0600);
    const int lone = shmget(IPC_PRIVATE, huge, IPC_CREAT | SHM_HUGETLB | 0600);
    if (attached < 0 || lone < 0)
        zdtm::skip("no huge pages: %s", strerror(errno));
    const std::span<std::byte> memory = attach(attached, size);
    zdtm::fill(memory, 1);
    const std::span<std::byte> once = attach(lone, huge);
    zdtm::fill(once, 2);
    SYS(shmdt(once.data()));
    const pid_t child = me.start_child([&](zdtm::Task& task) {
        task.wait_for_check();
        CHECK(memory[7] == std::byte{77}, "not shared any more");
    });
    me.wait_for_check();
    CHECK(zdtm::first_difference(memory, 1) < 0, "the data changed");
    CHECK(zdtm::smaps_field(memory.data(), "KernelPageSize") == "2048 kB", "other pages");
    memory[7] = std::byte{77};
    me.finish(child);
    const std::span<std::byte> again = attach(lone, huge);
    CHECK(zdtm::first_difference(again, 2) < 0, "the data of an unattached segment changed");
    CHECK(zdtm::smaps_field(again.data(), "KernelPageSize") == "2048 kB", "other pages of an unattached segment");
}
