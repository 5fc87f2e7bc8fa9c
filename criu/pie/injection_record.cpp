// SPDX-License-Identifier: GPL-2.0-only
#include "criu/pie/injection_record.hpp"

#include <algorithm>
#include <array>
#include <exception>
#include <iterator>
#include <string_view>

#include "criu/base/error.hpp"
#include "criu/base/machine.hpp"
#include "criu/base/printable.hpp"
#include "criu/pie/enter.hpp"
#include "pty_exchange_blob.hpp"

namespace criu::pie {
namespace {

constexpr std::size_t kFields = 5;
constexpr std::array<std::string_view, 2> kNames{"interpreter", "pty-exchange"};  // in the order of InjectedBlob

}  // namespace

void recordInjection(InjectedBlob blob, HostPid process, std::uint64_t startTime, std::uint64_t dataSize,
                     Journal& journal) noexcept {
    if (!journal.isOpen())
        return;
    try {
        journal.record(JournalLine{"injects", fmt::format("{}", process), fmt::format("{}", startTime),
                                   std::string(kNames.at(static_cast<std::size_t>(blob))),
                                   fmt::format("{}", pageAlignUp(dataSize))});
    } catch (const std::exception&) {
        return;  // the journal is for killed dumps only
    }
}

InjectionRecord InjectionRecord::of(const JournalLine& line) {
    if (line.size() != kFields)
        fail("the journal is damaged: a line about injected code has {} fields", line.size());
    const auto name = std::find(kNames.begin(), kNames.end(), line[3]);
    if (name == kNames.end())
        fail("the journal is damaged: criu injects no code {}", printable(line[3]));
    const bool isInterpreter =
        static_cast<InjectedBlob>(std::distance(kNames.begin(), name)) == InjectedBlob::Interpreter;
    return {isInterpreter ? &interpreterBlob() : &pty_exchange_blob::blob, line[1], line[2], numberOf(line[4])};
}

}  // namespace criu::pie
