// SPDX-License-Identifier: GPL-2.0-only
// This code runs in dumped processes, so it can't use libc or criu's data.
#include "criu/pie/pty_exchange.hpp"

#include <compel/blob/syscall.hpp>

namespace {

std::int64_t call(std::int64_t number, std::uint64_t a, std::uint64_t b, std::uint64_t c, std::uint64_t d) {
    return compel::blob::syscall(number, a, b, c, d);
}

}  // namespace

extern "C" std::int64_t blob_entry(void* argument) {
    criu::pie::PtyExchange<call>(*static_cast<criu::pie::PtyJob*>(argument)).exchange();
    return 0;
}
