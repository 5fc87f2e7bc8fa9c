// SPDX-License-Identifier: GPL-2.0-only
// Program with state that only a plugin can save: a value in /dev/cpu_dma_latency and a mapping of /dev/loop0. Prints
// READY; on SIGTERM prints PASS, or FAIL and the reason. The plugin moves the mapping by a page each time.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

constexpr std::size_t kPage = 4096;
constexpr std::int32_t kLatency = 777;

[[noreturn]] void fail(const char* what) {
    std::printf("FAIL %s: %s\n", what, std::strerror(errno));
    std::exit(1);
}

/// Returns the offset of the mapping at an address, as the kernel shows it; -1 if there is none.
long offsetAt(const void* address) {
    std::FILE* const maps = std::fopen("/proc/self/maps", "r");
    char line[512];
    long found = -1;
    while (maps != nullptr && std::fgets(line, sizeof(line), maps) != nullptr) {
        std::uintptr_t start = 0;
        long offset = 0;
        char path[256] = {};
        if (std::sscanf(line, "%lx-%*x %*s %lx %*s %*s %255s", &start, &offset, path) >= 2 &&
            start == reinterpret_cast<std::uintptr_t>(address) && std::strcmp(path, "/dev/loop0") == 0)
            found = offset;
    }
    std::fclose(maps);
    return found;
}

}  // namespace

int main() {
    std::setvbuf(stdout, nullptr, _IOLBF, 0);
    sigset_t wanted;
    ::sigemptyset(&wanted);
    ::sigaddset(&wanted, SIGTERM);
    ::sigprocmask(SIG_BLOCK, &wanted, nullptr);

    const int latency = ::open("/dev/cpu_dma_latency", O_RDWR);
    const int loop = ::open("/dev/loop0", O_RDONLY);
    if (latency < 0 || loop < 0) {
        std::puts("SKIP no /dev/cpu_dma_latency or /dev/loop0");
        return 77;
    }
    if (::write(latency, &kLatency, sizeof(kLatency)) != sizeof(kLatency))
        fail("set the latency");
    void* const mapping = ::mmap(nullptr, 2 * kPage, PROT_READ, MAP_SHARED, loop, 0);
    if (mapping == MAP_FAILED)
        fail("map /dev/loop0");
    ::close(loop);
    const long before = offsetAt(mapping);
    std::puts("READY");
    int signal = 0;
    ::sigwait(&wanted, &signal);

    std::int32_t value = 0;
    if (::pread(latency, &value, sizeof(value), 0) != sizeof(value) || value != kLatency)
        fail("the latency is another one");
    const long moved = offsetAt(mapping) - before;
    std::printf("PASS moved by %ld\n", moved);
    return 0;
}
