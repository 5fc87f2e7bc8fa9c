// SPDX-License-Identifier: GPL-2.0-only
// Memory that is filled while a process uses it; here it is memory of this process.
#include <linux/userfaultfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <catch2/catch.hpp>

#include <atomic>
#include <thread>

#include "criu/base/mapping.hpp"
#include "criu/kernel/proc/procdir.hpp"
#include "criu/kernel/proc/stat.hpp"
#include "criu/memory/lazy/lazy_memory.hpp"
#include "criu/memory/pages/page_file_sinks.hpp"
#include "image_fixture.hpp"
#include "stored_pages.hpp"

using namespace criu;
using namespace criu::memory;

namespace {

/// Image with one page of sevens.
class Sevens {
public:
    Sevens() : images_(place_.images()), source_(store()) {}

    [[nodiscard]] std::shared_ptr<const LazyContent> content() const {
        return std::make_shared<LazyContent>(source_, test::kStoredTask, nullptr);
    }

private:
    [[nodiscard]] PageSource store() const {
        const std::vector<std::byte> page(kImagePageSize, std::byte{7});
        FilePageSinks sinks(images_, {});
        const auto sink = sinks.open(test::kStoredTask, page.size());
        const PageRun run{test::kStoredStart, page.size(), PageFlags::Present};
        sink->add({&run, 1});
        const kernel::RemoteRange range{test::kStoredStart, page.size()};
        sink->write({0, {&range, 1}, page});
        sink->finish();
        return FilePageSources(images_).openRequired(test::kStoredTask);
    }

    test::TemporaryDir place_;
    ImageDir images_;
    PageSource source_;
};

Mapping onePage() {
    return Mapping::anonymous(kImagePageSize, MAP_PRIVATE);
}

/// Creates a userfaultfd for this process; empty if the process may not have one.
UniqueFd userfaultfdFor(const Mapping& memory) {
    UniqueFd fd(static_cast<int>(::syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK)));
    if (!fd)
        return fd;
    uffdio_api api{UFFD_API, UFFD_FEATURE_EVENT_REMAP, 0};
    REQUIRE(::ioctl(fd.get(), UFFDIO_API, &api) == 0);
    uffdio_register range{};
    range.range = {reinterpret_cast<std::uint64_t>(memory.data()), memory.size()};
    range.mode = UFFDIO_REGISTER_MODE_MISSING;
    REQUIRE(::ioctl(fd.get(), UFFDIO_REGISTER, &range) == 0);
    return fd;
}

/// Waits until a thread of this process sleeps in the kernel.
void awaitSleep(const std::atomic<pid_t>& thread) {
    kernel::ProcBuffer buffer;
    const kernel::ProcPid self = kernel::ProcDir().self();
    while (thread == 0 || kernel::readStat(self.thread(thread), buffer).state == kernel::TaskState::Running)
        std::this_thread::yield();
}

}  // namespace

TEST_CASE("a page that is touched where mremap has put it, before that is known, has its content") {
    const Sevens sevens;
    const Mapping from = onePage();
    const Mapping to = onePage();
    UniqueFd fd = userfaultfdFor(from);
    if (!fd) {
        WARN("skipped: no userfaultfd");
        return;
    }
    LazyPageMap pages;
    pages.add({reinterpret_cast<std::uint64_t>(from.data()), kImagePageSize, test::kStoredStart});
    LazyMemory memory("this process", std::move(fd), std::move(pages), sevens.content());

    // Both threads wait until their events are read, and the kernel delivers the second event first.
    std::atomic<pid_t> mover{0};
    std::atomic<pid_t> toucher{0};
    std::atomic<int> found{-1};
    std::thread moving([&] {
        mover = ::gettid();
        ::mremap(from.data(), from.size(), to.size(), MREMAP_MAYMOVE | MREMAP_FIXED, to.data());
    });
    awaitSleep(mover);
    std::thread touching([&] {
        toucher = ::gettid();
        found = *static_cast<volatile unsigned char*>(static_cast<void*>(to.data()));
    });
    awaitSleep(toucher);

    std::vector<std::byte> buffer(kImagePageSize);
    while (found < 0)
        for (const std::uint64_t page : memory.takeEvents().wanted)
            if (const auto order = memory.takeAt(page, kImagePageSize))
                memory.supply(*order, buffer);
    moving.join();
    touching.join();
    CHECK(found == 7);
}
