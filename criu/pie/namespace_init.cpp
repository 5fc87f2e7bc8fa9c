// SPDX-License-Identifier: GPL-2.0-only
#include "criu/pie/namespace_init.hpp"

#include <linux/prctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cstring>

#include "criu/base/error.hpp"
#include "criu/base/machine.hpp"
#include "criu/kernel/proc/procdir.hpp"
#include "criu/kernel/proc/stat.hpp"
#include "criu/pie/enter.hpp"
#include "namespace_init_blob.hpp"

namespace criu::pie {
namespace {

constexpr std::size_t kStack = 8192;

/// Addresses of the init's memory: first the code, then one page of data, then the stack up to `end`.
struct Room {
    std::uint64_t code;
    std::uint64_t data;
    std::uint64_t end;
};

Room makeRoom() {
    const auto bytes = namespace_init_blob::blob.bytes;
    const std::size_t code = pageAlignUp(bytes.size());
    const std::size_t size = code + pageAlignUp(1) + kStack;
    void* const memory = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        failErrno("map {} bytes for the init of a pid namespace", size);
    std::memcpy(memory, bytes.data(), bytes.size());
    sys(::mprotect(memory, code, PROT_READ | PROT_EXEC), "protect the code of an init");
    const auto at = reinterpret_cast<std::uint64_t>(memory);
    return {at, at + code, at + size};
}

/// Writes the command line that ps(1) shows to the address `at`. Sets all addresses by one call of prctl(2) with
/// PR_SET_MM_MAP, because the kernel requires CAP_SYS_RESOURCE to set a single address.
void showTitle(std::uint64_t at) {
    std::strcpy(reinterpret_cast<char*>(at), kNamespaceInitTitle);
    const std::uint64_t end = at + std::strlen(kNamespaceInitTitle) + 1;
    kernel::ProcBuffer buffer;
    const kernel::TaskStat stat = kernel::readStat(kernel::ProcDir().self(), buffer);
    prctl_mm_map map{};
    map.start_code = stat.startCode;
    map.end_code = stat.endCode;
    map.start_data = stat.startData;
    map.end_data = stat.endData;
    map.start_brk = stat.startBrk;
    map.brk = reinterpret_cast<std::uint64_t>(::sbrk(0));
    map.start_stack = stat.startStack;
    map.arg_start = at;
    map.arg_end = map.env_start = map.env_end = end;
    map.exe_fd = ~0U;
    sys(::prctl(PR_SET_MM, PR_SET_MM_MAP, &map, sizeof(map), 0), "set the title of the init");
    sys(::prctl(PR_SET_NAME, kNamespaceInitName), "set the name of the init");
}

}  // namespace

void becomeNamespaceInit(pid_t root, int channel) {
    const Room room = makeRoom();
    auto* const told = reinterpret_cast<NamespaceInit*>(room.data);
    *told = {root, channel, room.code, room.end, taskSize()};
    showTitle(room.data + sizeof(NamespaceInit));
    dropRseq();
    enter(room.code + namespace_init_blob::blob.entryOffset, room.data, room.end);
}

}  // namespace criu::pie
