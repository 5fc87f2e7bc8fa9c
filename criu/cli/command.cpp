// SPDX-License-Identifier: GPL-2.0-only
#include "criu/cli/command.hpp"

namespace criu::cli {

std::string_view commandName(Command command) noexcept {
    switch (command) {
        case Command::Dump:
            return "dump";
        case Command::PreDump:
            return "pre-dump";
        case Command::Restore:
            return "restore";
        case Command::LazyPages:
            return "lazy-pages";
        case Command::Check:
            return "check";
        case Command::PageServer:
            return "page-server";
        case Command::Service:
            return "service";
        case Command::Swrk:
            return "swrk";
        case Command::Dedup:
            return "dedup";
        case Command::CpuinfoDump:
            return "cpuinfo dump";
        case Command::CpuinfoCheck:
            return "cpuinfo check";
    }
    return "";
}

}  // namespace criu::cli
