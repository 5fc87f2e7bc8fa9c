// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/restore/commit_word.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <utility>

#include "criu/base/error.hpp"
#include "criu/base/machine.hpp"

namespace criu::engine {

CommitWord::CommitWord() {
    const UniqueFd file(sys(::memfd_create("criu-commit", MFD_CLOEXEC), "create the commit word"));
    sys(::ftruncate(file.get(), static_cast<off_t>(machinePageSize())), "size the commit word");
    void* const at = ::mmap(nullptr, machinePageSize(), PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
    if (at == MAP_FAILED)
        failErrno("map the commit word");
    mapping_ = Mapping(at, machinePageSize());
    const std::string path = fmt::format("/proc/self/fd/{}", file.get());
    reading_.reset(sys(::open(path.c_str(), O_RDONLY | O_CLOEXEC), "open the commit word for reading"));
}

void CommitWord::inherit(kernel::FdStore& store) {
    reading_ = store.inherit(kernel::FdKey::Control, std::move(reading_));
}

void CommitWord::mapAt(std::uint64_t at) const {
    if (::mmap(reinterpret_cast<void*>(at), machinePageSize(), PROT_READ, MAP_SHARED | MAP_FIXED_NOREPLACE,
               reading_.get(), 0) == MAP_FAILED)
        failErrno("map the commit word at {:#x}", at);
}

void CommitWord::commit() noexcept {
    __atomic_store_n(mapping_.as<std::uint32_t>(), 1U, __ATOMIC_RELEASE);
}

}  // namespace criu::engine
