// SPDX-License-Identifier: GPL-2.0-only
// zdtm: also all-killed, dump-killed, background-killed, background-all-killed, pre-dump-killed, restore-killed, lazy-killed, stream-dump-killed, stream-restore-killed, clones-killed, power-cut, calls-fail, pre-dump-calls-fail, restore-calls-fail
// zdtm: fails dump EAGAIN clone engine::runGuarded; dump EPERM kill compel::FrozenProcess::sendKill; dump EIO newfstatat engine::lookAtPath; dump EIO newfstatat compel::countThreads; pre-dump ENOBUFS sendmsg engine::WpTrackerLink::commit; restore EMFILE openat compel::findSyscallInstruction; restore EIO pread64 files::readBuildId
#include <memory>
#include <vector>

#include "zdtm.hpp"

ZDTM("the heap keeps its data, and still grows and shrinks") {
    const std::size_t size = std::size_t{1} << 20;
    void* const bottom = sbrk(static_cast<intptr_t>(size));
    CHECK(bottom != reinterpret_cast<void*>(-1), "%s", strerror(errno));
    const std::span<std::byte> part(static_cast<std::byte*>(bottom), size);
    zdtm::fill(part, 1);
    std::vector<std::unique_ptr<std::string>> strings;
    for (int i = 0; i < 1000; ++i) {
        strings.push_back(std::make_unique<std::string>(static_cast<std::size_t>(i), 'x'));
    }
    void* const top = sbrk(0);
    me.wait_for_check();

    CHECK(sbrk(0) == top, "the break moved");
    CHECK(zdtm::first_difference(part, 1) < 0, "the data changed");
    for (std::size_t i = 0; i < strings.size(); ++i) {
        CHECK(*strings[i] == std::string(i, 'x'), "string %zu changed", i);
    }
    CHECK(sbrk(static_cast<intptr_t>(size)) == top, "the heap does not grow at its end");
    const std::span<std::byte> more(static_cast<std::byte*>(top), size);
    CHECK(more[size - 1] == std::byte{}, "new heap is not zero");
    zdtm::fill(more, 2);
    CHECK(zdtm::first_difference(more, 2) < 0 && zdtm::first_difference(part, 1) < 0, "the heap overlaps something");
    CHECK(sbrk(-static_cast<intptr_t>(size)) != reinterpret_cast<void*>(-1) && sbrk(0) == top,
          "the heap does not shrink");
    strings.clear();
}
