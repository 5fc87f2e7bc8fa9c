// SPDX-License-Identifier: GPL-2.0-only
#include "criu/kernel/net/changed_options.hpp"

#include <sys/socket.h>
#include <sys/stat.h>

#include <exception>

#include <fmt/format.h>

namespace criu::kernel {
namespace {

constexpr const char* kLine = "options";
constexpr std::size_t kFields = 3;  // inode number, name and value

}  // namespace

void recordOptions(const ChangedOptions& options, Journal& journal) noexcept {
    if (!journal.isOpen() || options.empty())
        return;
    try {
        JournalLine line{kLine};
        for (const auto& [inode, values] : options)
            for (const OptionValue& each : values) {
                line.push_back(fmt::format("{}", inode));
                line.push_back(fmt::format("{}", each.name));
                line.push_back(fmt::format("{}", static_cast<std::uint32_t>(each.value)));
            }
        journal.record(line);
    } catch (const std::exception&) {
        return;  // the journal is for killed dumps only
    }
}

ChangedOptions recordedOptions(const std::vector<JournalLine>& lines) {
    ChangedOptions all;
    for (const JournalLine& line : lines)
        if (line.front() == kLine)
            for (std::size_t at = 1; at + kFields <= line.size(); at += kFields)
                all[numberOf(line[at])].push_back(
                    {static_cast<int>(numberOf(line[at + 1])),
                     static_cast<int>(static_cast<std::uint32_t>(numberOf(line[at + 2])))});
    return all;
}

void setRecordedOptions(int socket, const ChangedOptions& options) noexcept {
    struct stat status {};
    if (::fstat(socket, &status) != 0)
        return;
    if (const auto found = options.find(status.st_ino); found != options.end())
        for (const OptionValue& each : found->second)
            ::setsockopt(socket, SOL_SOCKET, each.name, &each.value, sizeof(each.value));
}

}  // namespace criu::kernel
