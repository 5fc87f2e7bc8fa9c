// SPDX-License-Identifier: GPL-2.0-only
#include "criu/options/command.hpp"

namespace criu::options {
namespace {

using enum Command;

constexpr CommandRow kCommands[kCommandCount] = {
    {Dump, "dump", true, "dump -t PID -D DIR", "write a process tree to image files and end it"},
    {PreDump, "pre-dump", true, "pre-dump -t PID -D DIR", "write only its memory, and resume it"},
    {Restore, "restore", true, "restore -D DIR", "restore a process tree from image files"},
    {LazyPages, "lazy-pages", true, "lazy-pages -D DIR", "serve page faults of processes restored with --lazy-pages"},
    {Check, "check", true, "check [--all | --feature NAME]", "test whether this kernel has the required features"},
    {PageServer, "page-server", true, "page-server -D DIR --port PORT", "receive memory of a dump on another machine"},
    {Service, "service", true, "service --address SOCKET", "handle requests of clients"},
    {Swrk, "swrk", true, "swrk FD", "handle requests on an inherited socket"},
    {Dedup, "dedup", true, "dedup -D DIR", "free pages of parent images that later ones replace"},
    {CpuinfoDump, "cpuinfo dump", true, "cpuinfo dump -D DIR", "write the features of this processor to an image"},
    {CpuinfoCheck, "cpuinfo check", true, "cpuinfo check -D DIR", "test whether this processor has the same features"},
    {Explain, "explain", true, "explain DIR", "list obstacles to a restore here, without a restore"},
    {Verify, "verify", true, "verify DIR", "compare images with their checksums"},
    {StreamPack, "stream pack", true, "stream pack -D DIR [--stream-to FILE]", "write image files as one stream"},
    {StreamUnpack, "stream unpack", true, "stream unpack -D DIR [--stream-from FILE]",
     "write the images of a stream to image files"},
    {Rescue, "rescue", true, "rescue", "revert what killed dumps and restores have left"},
    {MemoryProvider, "memory-provider", true, "memory-provider -D DIR --provider-socket FILE",
     "serve images and memory to restores with --provider-socket"},
    {Compare, "compare", true, "compare -t PID -D DIR", "list differences between a running tree and images"},
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
