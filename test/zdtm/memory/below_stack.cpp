// SPDX-License-Identifier: GPL-2.0-only
// zdtm: modes once, background, leave-running, compare
// A killed criu leaves a signal frame there.
// zdtm: not-in all-killed, dump-killed, pre-dump-killed, restore-killed, restore-all-killed
#include <alloca.h>
#include <poll.h>

#include "zdtm.hpp"

namespace {

constexpr std::size_t kDeep = std::size_t{64} << 10;  // more than ready() uses
constexpr std::size_t kSize = 8192;
constexpr std::size_t kUsed = 1024;  // bytes that calls of the wait may use
constexpr unsigned char kPattern = 0xc3;
constexpr int kPauseMs = 20;
constexpr std::size_t kMuch = std::size_t{8} << 20;  // enough for a memory snapshot with --background

// Waits with a stack pointer that is kDeep bytes lower.
[[gnu::noinline]] void wait_deep(const zdtm::Task& me) {
    auto* const room = static_cast<volatile unsigned char*>(alloca(kDeep));
    room[0] = 0;
    while (!me.triggered()) {
        poll(nullptr, 0, kPauseMs);
    }
}

}  // namespace

ZDTM("bytes below the stack pointer, where a tracer may place a signal frame") {
    const auto memory = zdtm::map(kMuch);
    zdtm::fill(memory, 1);
    // The first call of each function needs more stack, because the dynamic linker resolves its name.
    CHECK(!me.triggered(), "the check came too early");
    poll(nullptr, 0, 0);
    // Unused part of the stack. Signal handlers would overwrite it, but the program has none.
    auto* const below = static_cast<volatile unsigned char*>(__builtin_frame_address(0)) - kDeep - kSize;
    for (std::size_t i = 0; i < kSize - kUsed; ++i) {
        below[i] = kPattern;
    }
    me.ready();
    wait_deep(me);

    std::size_t changed = 0;
    for (std::size_t i = 0; i < kSize - kUsed; ++i) {
        changed += below[i] == kPattern ? 0 : 1;
    }
    CHECK(changed == 0, "%zu bytes below the stack pointer have changed", changed);
    CHECK(zdtm::first_difference(memory, 1) == -1, "memory has changed");
}
