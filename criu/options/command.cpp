// SPDX-License-Identifier: GPL-2.0-only
#include "criu/options/command.hpp"

namespace criu::options {
namespace {

using enum Command;

constexpr CommandRow kCommands[kCommandCount] = {
    {Dump, "dump", true, "dump -t PID -D DIR", "write a process tree into image files and end it"},
    {PreDump, "pre-dump", true, "pre-dump -t PID -D DIR", "write its memory only, and let it go on"},
    {Restore, "restore", true, "restore -D DIR", "bring a process tree back from image files"},
    {LazyPages, "lazy-pages", true, "lazy-pages -D DIR", "feed memory to processes restored with --lazy-pages"},
    {Check, "check", true, "check [--all | --feature NAME]", "see whether this kernel offers what is needed"},
    {PageServer, "page-server", true, "page-server -D DIR --port PORT", "receive memory of a dump on another machine"},
    {Service, "service", true, "service --address SOCKET", "answer requests of programs"},
    {Swrk, "swrk", true, "swrk FD", "answer requests on an inherited socket"},
    {Dedup, "dedup", true, "dedup -D DIR", "free memory of earlier images that later ones replace"},
    {CpuinfoDump, "cpuinfo dump", true, "cpuinfo dump -D DIR", "write down what this processor offers"},
    {CpuinfoCheck, "cpuinfo check", true, "cpuinfo check -D DIR", "see whether this processor offers the same"},
    {Explain, "explain", true, "explain DIR", "say what is in the way of a restore here, without trying it"},
    {Verify, "verify", true, "verify DIR", "compare images with the checksums that were written with them"},
    {StreamPack, "stream pack", true, "stream pack -D DIR [--stream-to FILE]", "write image files as one stream"},
    {StreamUnpack, "stream unpack", true, "stream unpack -D DIR [--stream-from FILE]",
     "put what is in a stream into image files"},
};

constexpr bool inOrder() noexcept {
    for (unsigned i = 0; i < kCommandCount; ++i)
        if (static_cast<unsigned>(kCommands[i].command) != i)
            return false;
    return true;
}
static_assert(inOrder(), "commandRow() looks rows up by number");

}  // namespace

std::span<const CommandRow> commandTable() noexcept {
    return kCommands;
}

const CommandRow& commandRow(Command command) noexcept {
    return kCommands[static_cast<unsigned>(command)];
}

}  // namespace criu::options
