// SPDX-License-Identifier: GPL-2.0-only
// Measures the rate at which criu moves contents of GPUs, with model GPUs whose engines cost the processor nothing:
// gpu_rate MIB FOLDER GB/s GPUS prints "DIRECTION GPUS THREADS GB/s" lines. FOLDER should be a tmpfs.
//   save   contents of MIB MiB of each GPU into new pages files
//   load   the same from these files, which are in the page cache
// A model GPU has a link of the given rate. A submission and the wake-up after it take the processor time that the
// driver needs (kSubmitTime, kWakeTime). Each direction runs once to warm up and three times measured. The median
// counts. Bind this program to a number of cores by taskset(1).
#include <amdgpu_drm.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "criu/base/thread_pool.hpp"
#include "criu/device/content_mover.hpp"
#include "criu/memory/pages/page_file_sinks.hpp"
#include "criu/memory/pages/page_files.hpp"
#include "criu/memory/pages/read_watch.hpp"
#include "plugins/amdgpu/content_driver.hpp"

namespace criu::amdgpu {
namespace {

constexpr std::uint64_t kSecond = 1'000'000'000;
/// Processor time of a submission, in nanoseconds: DRM_IOCTL_AMDGPU_CS with three buffers.
constexpr std::uint64_t kSubmitTime = 20'000;
/// Processor time from the interrupt of a fence to the waiting thread, in nanoseconds.
constexpr std::uint64_t kWakeTime = 10'000;

std::uint64_t now() {
    timespec time{};
    ::clock_gettime(CLOCK_MONOTONIC, &time);
    return static_cast<std::uint64_t>(time.tv_sec) * kSecond + static_cast<std::uint64_t>(time.tv_nsec);
}

void spendUntil(std::uint64_t end) {
    while (now() < end)
        continue;
}

void sleepUntil(std::uint64_t end) {
    const timespec time{static_cast<time_t>(end / kSecond), static_cast<long>(end % kSecond)};
    (void)::clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, nullptr);
}

/// Link between a GPU and system memory, which all engines of the GPU share.
struct Link {
    std::mutex mutex;
    double bytesPerNanosecond = 1;
    std::uint64_t free = 0;  ///< time from which on the link has no work
};

/// GPU whose engine takes the time of its link, and copies nothing.
class ModelGpu final : public Gpu {
public:
    explicit ModelGpu(Link& link) : link_(link) {}

    [[nodiscard]] std::uint32_t family() const override { return AMDGPU_FAMILY_AI; }
    std::unique_ptr<Buffer> allocate(std::uint64_t size) override {
        void* const at =
            ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
        if (at == MAP_FAILED)
            failErrno("allocate a buffer");
        auto buffer = std::make_unique<ModelBuffer>(nextAddress_, size, Mapping(at, size));
        buffers_[nextAddress_] = static_cast<const std::byte*>(at);
        nextAddress_ += size;
        return buffer;
    }
    std::unique_ptr<Buffer> importBuffer(int, std::uint64_t, std::uint64_t size) override {
        auto buffer = std::make_unique<ModelBuffer>(nextAddress_, size, Mapping());
        nextAddress_ += size;
        return buffer;
    }
    std::unique_ptr<BufferList> list(const std::vector<const Buffer*>&) override {
        return std::make_unique<BufferList>();
    }
    std::uint64_t submit(std::uint64_t address, std::uint64_t bytes, const BufferList&) override {
        const std::uint64_t began = now();
        const auto buffer = std::prev(buffers_.upper_bound(address));
        const std::uint64_t amount = copied(buffer->second + (address - buffer->first), bytes);
        spendUntil(began + kSubmitTime);
        const std::lock_guard lock(link_.mutex);
        link_.free = std::max(link_.free, now()) +
                     static_cast<std::uint64_t>(static_cast<double>(amount) / link_.bytesPerNanosecond);
        ends_.push_back(link_.free);
        return ends_.size();
    }
    bool wait(std::uint64_t fence, std::uint64_t deadline) override {
        const std::uint64_t end = ends_.at(fence - 1);
        if (end > deadline) {
            sleepUntil(deadline);
            return false;
        }
        if (end > now()) {
            sleepUntil(end);
            spendUntil(now() + kWakeTime);
        }
        return true;
    }

private:
    class ModelBuffer final : public Buffer {
    public:
        ModelBuffer(std::uint64_t address, std::uint64_t size, Mapping memory)
            : address_(address), size_(size), memory_(std::move(memory)) {}
        [[nodiscard]] std::uint64_t size() const noexcept override { return size_; }
        [[nodiscard]] std::uint64_t address() const noexcept override { return address_; }
        [[nodiscard]] std::span<std::byte> memory() const noexcept override { return memory_.bytes(); }

    private:
        std::uint64_t address_;
        std::uint64_t size_;
        Mapping memory_;
    };

    /// Returns how many bytes the copy commands move.
    static std::uint64_t copied(const std::byte* commands, std::uint64_t bytes) {
        constexpr std::size_t kCommandDwords = 7;
        std::vector<std::uint32_t> words(bytes / sizeof(std::uint32_t));
        std::memcpy(words.data(), commands, words.size() * sizeof(std::uint32_t));
        std::uint64_t sum = 0;
        for (std::size_t at = 0; at + kCommandDwords <= words.size() && words[at] != 0; at += kCommandDwords)
            sum += std::uint64_t{words[at + 1]} + 1;
        return sum;
    }

    Link& link_;
    std::uint64_t nextAddress_ = kGpuPageSize;
    std::map<std::uint64_t, const std::byte*> buffers_;
    std::vector<std::uint64_t> ends_;  ///< time at which each fence is reached
};

/// Machine with model GPUs. The number of a GPU's render node is the index of its link.
class ModelKernel final : public Kernel {
public:
    ModelKernel(std::size_t gpus, double gigabytes) : links_(gpus) {
        for (Link& link : links_)
            link.bytesPerNanosecond = gigabytes;
    }

    std::unique_ptr<Gpu> openGpu(std::uint32_t renderMinor) override {
        return std::make_unique<ModelGpu>(links_.at(renderMinor));
    }
    UniqueFd open(const std::string& path, int) override { failWith(ENODEV, "open {}", path); }
    int tryIoctl(int, unsigned long, void*) override { return ENOTTY; }
    void loadLibraries() noexcept override {}
    int tryMap(int, std::uint64_t) override { return EACCES; }
    Mapping map(int, std::uint64_t, std::size_t) override { failWith(ENODEV, "map a buffer"); }
    struct stat status(int) override {
        failWith(ENODEV, "look at a descriptor");
    }
    dev_t device(const std::string&) override { return 0; }
    [[nodiscard]] std::string nearCpus(std::uint32_t) override { return {}; }
    [[nodiscard]] std::string topology() const override { return "/"; }

private:
    std::vector<Link> links_;
};

/// Directory with the images of one dump, which the destructor removes.
class Images {
public:
    explicit Images(const std::string& folder) : path_(folder + "/gpu-rate") {
        std::filesystem::remove_all(path_);
        std::filesystem::create_directory(path_);
    }
    ~Images() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }
    Images(const Images&) = delete;
    Images& operator=(const Images&) = delete;

    [[nodiscard]] ImageDir open() const {
        return {UniqueFd(sys(::open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC), "open {}", path_)), path_};
    }

private:
    std::string path_;
};

/// Adds a job for each GPU, and waits for them. Returns the rate in GB/s.
double rate(ModelKernel& kernel, device::Direction direction, std::span<device::ContentStore* const> stores,
            std::uint64_t bytes) {
    GpuContents driver(kernel);
    const memory::ReadWatch watch;
    const std::uint64_t began = now();
    device::ContentMover mover(driver, direction, device::kDefaultContentLimit, nullptr, watch);
    for (std::uint32_t gpu = 0; gpu < stores.size(); ++gpu)
        mover.add(gpu, {UniqueFd(), bytes, stores[gpu], 0});
    mover.finish();
    return static_cast<double>(bytes * stores.size()) / static_cast<double>(now() - began);
}

double save(ModelKernel& kernel, const ImageDir& images, std::size_t gpus, std::uint64_t bytes) {
    memory::FilePageSinks sinks(images, memory::Striping::usual());
    std::vector<std::unique_ptr<device::SavedPages>> pages;
    std::vector<device::ContentStore*> stores;
    for (std::uint32_t gpu = 0; gpu < gpus; ++gpu)
        stores.push_back(pages.emplace_back(std::make_unique<device::SavedPages>(sinks, gpu + 1, bytes)).get());
    const double result = rate(kernel, device::Direction::Save, stores, bytes);
    for (const auto& each : pages)
        each->finish();
    return result;
}

double load(ModelKernel& kernel, const ImageDir& images, std::size_t gpus, std::uint64_t bytes) {
    const memory::FilePageSources files(images);
    GpuContents driver(kernel);
    device::ContentSources sources;
    for (std::uint32_t gpu = 0; gpu < gpus; ++gpu)
        sources.emplace(gpu + 1, files.openRequired(memory::MemoryObject::device(gpu + 1)));
    device::LoadedStores loaded(driver, images, sources, false);
    std::vector<device::ContentStore*> stores;
    for (std::uint32_t gpu = 0; gpu < gpus; ++gpu)
        stores.push_back(&loaded.at({"", gpu + 1, 0}, bytes));
    return rate(kernel, device::Direction::Load, stores, bytes);
}

int measure(std::uint64_t bytes, const std::string& folder, double gigabytes, std::size_t gpus) {
    constexpr std::size_t kTurns = 3;
    ::prctl(PR_SET_TIMERSLACK, 1);
    ModelKernel kernel(gpus, gigabytes);
    std::vector<double> saved;
    std::vector<double> loaded;
    for (std::size_t turn = 0; turn <= kTurns; ++turn) {
        const Images images(folder);
        saved.push_back(save(kernel, images.open(), gpus, bytes));
        loaded.push_back(load(kernel, images.open(), gpus, bytes));
    }
    const std::size_t threads = device::contentThreads(availableCores(), gpus);
    for (std::vector<double>* const rates : {&saved, &loaded}) {
        rates->erase(rates->begin());
        std::sort(rates->begin(), rates->end());
        fmt::print("{} {} {} {:.2f}\n", rates == &saved ? "save" : "load", gpus, threads, (*rates)[kTurns / 2]);
    }
    return 0;
}

}  // namespace
}  // namespace criu::amdgpu

int main(int argc, char** argv) {
    if (argc != 5) {
        fputs("usage: gpu_rate MIB FOLDER GB/s GPUS\n", stderr);
        return 2;
    }
    try {
        return criu::amdgpu::measure(std::strtoull(argv[1], nullptr, 10) << 20, argv[2], std::atof(argv[3]),
                                     std::strtoul(argv[4], nullptr, 10));
    } catch (const std::exception& error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 1;
    }
}
