// SPDX-License-Identifier: GPL-2.0-only
#include "child.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "criu/base/error.hpp"

namespace criu::test {

StoppedChild::StoppedChild(const std::function<void()>& prepare) : pid_(sys(::fork(), "create a child")) {
    if (pid_ == 0) {
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        try {
            prepare();
        } catch (const std::exception& error) {
            ::dprintf(STDERR_FILENO, "child: %s\n", error.what());
            ::_exit(1);
        }
        for (;;)
            ::raise(SIGSTOP);
    }
    int status = 0;
    sys(::waitpid(pid_, &status, WUNTRACED), "wait for the child");
    if (!WIFSTOPPED(status))
        fail("the child ended with status {:#x}", status);
}

StoppedChild::~StoppedChild() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
}

std::string StoppedChild::memory(std::uint64_t start, std::uint64_t end) const {
    const UniqueFd mem = process().open("mem", O_RDONLY);
    std::string bytes(end - start, '?');
    std::size_t done = 0;
    while (done < bytes.size()) {
        const ssize_t got =
            ::pread(mem.get(), bytes.data() + done, bytes.size() - done, static_cast<off_t>(start + done));
        if (sys(got, "read {:x}", start + done) == 0)
            fail("nothing to read at {:x}", start + done);
        done += static_cast<std::size_t>(got);
    }
    return bytes;
}

FileId NumberedFiles::segmentFor(const kernel::Vma& vma) {
    const auto found = segments_.find(process_, vma, [this] { return FileId{++last_}; });
    if (found.fresh != nullptr)
        entries.push_back(found.fresh);
    return found.id;
}

MemoryDump::MemoryDump(pid_t pid, const ImageDir& images, memory::Drainer& drainer, kernel::PagemapScanner::Mode mode)
    : process(kernel::ProcDir().open(pid)), vmas(kernel::readSmaps(process)), pages(images) {
    memory = memory::dumpVmas(vmas, segments.rules(), files, arena);
    result = memory::dumpPages({HostPid(pid), TreePid(pid), process, mode}, memory, pages, drainer, arena);
}

}  // namespace criu::test
