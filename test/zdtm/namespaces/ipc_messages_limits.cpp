// SPDX-License-Identifier: GPL-2.0-only
// zdtm: fails-with-4.2 it restores no more than the default limits allow
#include <sched.h>
#include <sys/msg.h>

#include <vector>

#include "zdtm.hpp"

ZDTM("messages above the default size, in a queue that holds more than its present limit") {
    constexpr std::size_t kSize = 100'000;
    SYS(unshare(CLONE_NEWIPC));
    zdtm::write_file("/proc/sys/kernel/msgmax", std::to_string(kSize));
    zdtm::write_file("/proc/sys/kernel/msgmnb", std::to_string(10 * kSize));
    const int queue = SYS(msgget(IPC_PRIVATE, IPC_CREAT | 0600));
    std::vector<std::byte> packet(sizeof(long) + kSize);
    const std::span<std::byte> text = std::span(packet).subspan(sizeof(long));
    for (long number = 1; number <= 8; ++number) {
        std::memcpy(packet.data(), &number, sizeof(number));
        zdtm::fill(text, static_cast<std::uint64_t>(number));
        SYS(msgsnd(queue, packet.data(), kSize, IPC_NOWAIT));
    }
    msqid_ds status{};
    SYS(msgctl(queue, IPC_STAT, &status));
    status.msg_qbytes = kSize;
    SYS(msgctl(queue, IPC_SET, &status));
    zdtm::write_file("/proc/sys/kernel/msgmnb", "20000");
    me.wait_for_check();

    SYS(msgctl(queue, IPC_STAT, &status));
    CHECK(status.msg_qbytes == kSize, "the queue may hold %lu", status.msg_qbytes);
    CHECK(zdtm::read_file("/proc/sys/kernel/msgmnb") == "20000\n", "another msgmnb");
    CHECK(zdtm::read_file("/proc/sys/kernel/msgmax") == "100000\n", "another msgmax");
    for (long number = 1; number <= 8; ++number) {
        CHECK(msgrcv(queue, packet.data(), kSize, number, IPC_NOWAIT) == kSize, "no message %ld", number);
        CHECK(zdtm::first_difference(text, static_cast<std::uint64_t>(number)) < 0, "message %ld is another", number);
    }
}
