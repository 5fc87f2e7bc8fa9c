// SPDX-License-Identifier: GPL-2.0-only
#include "criu/memory/vdso/compat_vdso.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "criu/base/error.hpp"
#include "criu/base/unique_fd.hpp"
#include "criu/kernel/probe/child.hpp"

namespace criu::memory {
namespace {

/// Header that the child process writes to the pipe, before the code of the vDSO. The parent reads the pipe only after
/// the child has ended, so the pipe must hold all bytes. If the user's limit for pipes is too low
/// (fs.pipe-user-pages-soft), the write fails.
struct Found {
    std::uint64_t codeStart = 0;
    std::uint64_t codeSize = 0;
    std::uint32_t areas = 0;
    Range data[4];  ///< data mappings; not merged, because one mremap(2) call moves only one mapping
};
constexpr std::uint64_t kMostCode = 32768;

void unmap(const Range& range) {
    if (range.size() != 0)
        sys(::munmap(reinterpret_cast<void*>(range.start), range.size()), "unmap the vDSO");
}

/// Maps the vDSO for 32-bit programs in a child process, and writes its layout and code to the pipe.
bool describe(int pipe) {
    const VdsoLayout own = VdsoLayout::ofSelf();
    unmap(own.code);
    for (const Range& range : own.data)
        unmap(range);
    if (!mapCompatVdso())
        return false;
    const VdsoLayout layout = VdsoLayout::ofSelf();
    Found found;
    found.codeStart = layout.code.start;
    found.codeSize = layout.code.size();
    if (layout.data.size() > std::size(found.data))
        return false;
    for (const Range& area : layout.data)
        found.data[found.areas++] = area;
    if (found.codeSize == 0 || found.codeSize > kMostCode)
        return false;
    return ::write(pipe, &found, sizeof(found)) == sizeof(found) &&
           ::write(pipe, reinterpret_cast<const void*>(found.codeStart), found.codeSize) ==
               static_cast<ssize_t>(found.codeSize);
}

void readAll(int pipe, void* to, std::size_t size) {
    for (std::size_t done = 0; done < size;) {
        const ssize_t got =
            sys(::read(pipe, static_cast<char*>(to) + done, size - done), "read the vDSO of 32-bit programs");
        if (got == 0)
            fail("the vDSO of 32-bit programs couldn't be read");
        done += static_cast<std::size_t>(got);
    }
}

}  // namespace

CompatVdso CompatVdso::ofKernel() {
    int ends[2] = {-1, -1};
    sys(::pipe2(ends, O_CLOEXEC | O_NONBLOCK), "create a pipe");
    const UniqueFd reading(ends[0]);
    UniqueFd writing(ends[1]);
    if (!kernel::probe::inChild([&writing] { return describe(writing.get()); })) {
        Error error(0, "this kernel has no vDSO for 32-bit programs");
        error.addHint(std::string(compatVdsoHint()));
        throw error;
    }
    writing.reset();
    Found found;
    readAll(reading.get(), &found, sizeof(found));
    CompatVdso vdso;
    vdso.code.resize(found.codeSize);
    readAll(reading.get(), vdso.code.data(), vdso.code.size());

    const auto areas = std::span(found.data).first(std::min<std::size_t>(found.areas, std::size(found.data)));
    std::uint64_t lowest = found.codeStart;
    for (const Range& area : areas)
        lowest = std::min(lowest, area.start);
    vdso.layout.code = {found.codeStart - lowest, found.codeStart - lowest + found.codeSize};
    for (const Range& area : areas)
        vdso.layout.data.push_back({area.start - lowest, area.end - lowest});
    return vdso;
}

std::uint64_t CompatVdso::size() const noexcept {
    std::uint64_t end = layout.code.end;
    for (const Range& range : layout.data)
        end = std::max(end, range.end);
    return end;
}

}  // namespace criu::memory
