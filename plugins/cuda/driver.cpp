// SPDX-License-Identifier: GPL-2.0-only
#include "plugins/cuda/driver.hpp"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <mutex>

#include "criu/base/shared_library.hpp"
#include "criu/kernel/scan.hpp"

namespace criu::cuda {
namespace {

constexpr const char* kLibrary = "libcuda.so.1";
constexpr const char* kControlDevice = "/dev/nvidiactl";
constexpr const char* kGpuFolder = "/proc/driver/nvidia/gpus";
constexpr const char* kVersionFile = "/proc/driver/nvidia/version";

/// Results of the API that mean something here (CUresult in the driver API's manual).
constexpr int kSuccess = 0;
constexpr int kInvalidValue = 1;
constexpr int kOutOfMemory = 2;
constexpr int kNotInitialized = 3;
constexpr int kIllegalState = 401;
constexpr int kNotReady = 600;
constexpr int kNotSupported = 801;

/// Arguments of the calls: 64 bytes each, of which those that have no meaning are zero.
struct LockArguments {
    std::uint32_t timeoutMs = 0;
    std::uint32_t reserved0 = 0;
    std::uint64_t reserved[7] = {};
};
struct RestoreArguments {
    const GpuPair* pairs = nullptr;
    std::uint32_t count = 0;
    char reserved0[4] = {};
    std::uint64_t reserved[6] = {};
};
static_assert(sizeof(LockArguments) == 64 && sizeof(RestoreArguments) == 64 && sizeof(GpuPair) == 32);

const char* hintFor(int result) {
    switch (result) {
        case kOutOfMemory:
            return "there isn't enough memory on the GPU, or in the machine for what is on the GPU";
        case kNotInitialized:
            return "it has no CUDA state";
        case kIllegalState:
            return "it is in another state than this needs";
        case kNotSupported:
            return "it uses something that the driver can't checkpoint: managed memory, memory shared with other "
                   "processes, MIG or multicast objects";
        default:
            return nullptr;
    }
}

std::string wholeFile(const std::filesystem::path& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
}

/// The value of a line "KEY: value" of the driver's files.
std::string valueOf(std::string_view text, std::string_view key) {
    kernel::Scanner scan(text);
    std::string_view line;
    while (scan.line(line)) {
        if (!line.starts_with(key) || line.substr(key.size()).find(':') == std::string_view::npos)
            continue;
        std::string_view value = line.substr(line.find(':') + 1);
        const std::size_t first = value.find_first_not_of(" \t");
        if (first == std::string_view::npos)
            return {};
        value.remove_prefix(first);
        return std::string(value.substr(0, value.find_last_not_of(" \t") + 1));
    }
    return {};
}

/// The checkpoint calls of the library.
class Api {
public:
    Api()
        : library_(kLibrary, "libcuda1"),
          getState_(call("cuCheckpointProcessGetState")),
          getRestoreThread_(call("cuCheckpointProcessGetRestoreThreadId")),
          lock_(call("cuCheckpointProcessLock")),
          checkpoint_(call("cuCheckpointProcessCheckpoint")),
          restore_(call("cuCheckpointProcessRestore")),
          unlock_(call("cuCheckpointProcessUnlock")),
          initialize_(library_["cuInit"]),
          driverVersion_(library_["cuDriverGetVersion"]),
          errorName_(library_["cuGetErrorName"]) {}

    using Get = int (*)(int pid, int* value);
    using Do = int (*)(int pid, const void* arguments);

    [[nodiscard]] int get(bool thread, int pid, int* value) const {
        return (thread ? getRestoreThread_ : getState_)(pid, value);
    }
    [[nodiscard]] Do lock() const noexcept { return lock_; }
    [[nodiscard]] Do checkpoint() const noexcept { return checkpoint_; }
    [[nodiscard]] Do restore() const noexcept { return restore_; }
    [[nodiscard]] Do unlock() const noexcept { return unlock_; }
    [[nodiscard]] int initialize() const { return initialize_(0); }
    [[nodiscard]] int version() const {
        int version = 0;
        return driverVersion_(&version) == kSuccess ? version : 0;
    }

    [[noreturn]] void failed(int result, const char* what, pid_t pid) const {
        const char* name = nullptr;
        if (errorName_(result, &name) != kSuccess || name == nullptr)
            name = "unknown error";
        CudaError error(result, fmt::format("{} process {}: {} ({})", what, pid, name, result));
        if (const char* const hint = hintFor(result))
            error.addHint(hint);
        throw error;
    }

private:
    /// The calls have one form in all versions of the library so far, so their plain symbols are right.
    [[nodiscard]] SharedLibrary::Symbol call(const char* name) const {
        const SharedLibrary::Symbol symbol = library_.find(name);
        if (static_cast<void*>(symbol) == nullptr)
            fail("the CUDA driver is too old: {} lacks {}, which came with CUDA 12.8 (driver 570)", kLibrary, name);
        return symbol;
    }

    SharedLibrary library_;
    Get getState_;
    Get getRestoreThread_;
    Do lock_;
    Do checkpoint_;
    Do restore_;
    Do unlock_;
    int (*initialize_)(unsigned);
    int (*driverVersion_)(int*);
    int (*errorName_)(int, const char**);
};

/// nvmlMemory_t of the management library, bytes.
struct NvmlMemory {
    unsigned long long total = 0;
    unsigned long long free = 0;
    unsigned long long used = 0;
};

class RealDriver final : public Driver {
public:
    [[nodiscard]] bool isPresent() const override { return ::access(kControlDevice, F_OK) == 0; }

    [[nodiscard]] std::optional<State> state(pid_t pid) override {
        int value = 0;
        const int result = api().get(false, pid, &value);
        if (result == kInvalidValue || result == kNotInitialized)
            return std::nullopt;
        if (result != kSuccess)
            api().failed(result, "ask for the CUDA state of", pid);
        return static_cast<State>(value);
    }

    [[nodiscard]] pid_t restoreThread(pid_t pid) override {
        int value = 0;
        if (const int result = api().get(true, pid, &value); result != kSuccess)
            api().failed(result, "ask for the driver's thread in", pid);
        return value;
    }

    [[nodiscard]] bool lock(pid_t pid, std::chrono::milliseconds limit) override {
        LockArguments arguments;
        arguments.timeoutMs = static_cast<std::uint32_t>(std::max<std::int64_t>(limit.count(), 1));
        const int result = api().lock()(pid, &arguments);
        if (result == kNotReady)
            return false;
        if (result != kSuccess)
            api().failed(result, "lock", pid);
        return true;
    }

    void checkpoint(pid_t pid) override {
        if (const int result = api().checkpoint()(pid, nullptr); result != kSuccess)
            api().failed(result, "copy out what devices hold of", pid);
    }

    void restore(pid_t pid, std::span<const GpuPair> pairs) override {
        // Without a process that uses it a GPU may be switched off (persistence mode off), and only cuInit() wakes it.
        std::call_once(initialized_, [this] { initializeResult_ = api().initialize(); });
        if (initializeResult_ != kSuccess)
            api().failed(initializeResult_, "start the CUDA driver for", pid);
        RestoreArguments arguments;
        arguments.pairs = pairs.data();
        arguments.count = static_cast<std::uint32_t>(pairs.size());
        if (const int result = api().restore()(pid, pairs.empty() ? nullptr : &arguments); result != kSuccess)
            api().failed(result, "put back on devices what they held of", pid);
    }

    void unlock(pid_t pid) override {
        if (const int result = api().unlock()(pid, nullptr); result != kSuccess)
            api().failed(result, "unlock", pid);
    }

    [[nodiscard]] int apiVersion() override { return api().version(); }

    [[nodiscard]] std::vector<Gpu> gpus() const override {
        std::vector<Gpu> found;
        std::error_code gone;
        for (const auto& folder : std::filesystem::directory_iterator(kGpuFolder, gone)) {
            const std::string text = wholeFile(folder.path() / "information");
            found.push_back({valueOf(text, "GPU UUID"), valueOf(text, "Model")});
        }
        std::sort(found.begin(), found.end(), [](const Gpu& one, const Gpu& other) { return one.uuid < other.uuid; });
        return found;
    }

    [[nodiscard]] std::string version() const override {
        // "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.159.04  Fri …"
        const std::string text = valueOf(wholeFile(kVersionFile), "NVRM version");
        for (std::size_t at = 0; at < text.size();) {
            const std::size_t end = std::min(text.find(' ', at), text.size());
            const std::string_view word = std::string_view(text).substr(at, end - at);
            if (word.find('.') != std::string_view::npos &&
                word.find_first_not_of("0123456789.") == std::string_view::npos)
                return std::string(word);
            at = end + 1;
        }
        return {};
    }

    [[nodiscard]] std::optional<std::uint64_t> freeMemory() const override {
        constexpr const char* kManagement = "libnvidia-ml.so.1";
        if (!SharedLibrary::isInstalled(kManagement))
            return std::nullopt;
        const SharedLibrary library(kManagement);
        int (*const start)() = library["nvmlInit_v2"];
        int (*const end)() = library["nvmlShutdown"];
        int (*const count)(unsigned*) = library["nvmlDeviceGetCount_v2"];
        int (*const device)(unsigned, void**) = library["nvmlDeviceGetHandleByIndex_v2"];
        int (*const memory)(void*, NvmlMemory*) = library["nvmlDeviceGetMemoryInfo"];
        if (start() != 0)
            return std::nullopt;
        std::optional<std::uint64_t> sum = 0;
        unsigned devices = 0;
        if (count(&devices) != 0)
            sum.reset();
        for (unsigned i = 0; sum && i < devices; ++i) {
            void* handle = nullptr;
            NvmlMemory info;
            if (device(i, &handle) != 0 || memory(handle, &info) != 0)
                sum.reset();
            else
                *sum += info.free;
        }
        (void)end();
        return sum;
    }

private:
    Api& api() {
        const std::lock_guard lock(loading_);
        if (!api_)
            api_.emplace();
        return *api_;
    }

    std::mutex loading_;
    std::optional<Api> api_;
    std::once_flag initialized_;
    int initializeResult_ = 0;
};

}  // namespace

std::unique_ptr<Driver> makeDriver() {
    return std::make_unique<RealDriver>();
}

Uuid parseUuid(const std::string& text) {
    constexpr std::string_view kPrefix = "GPU-";
    Uuid uuid{};
    std::string digits;
    if (text.starts_with(kPrefix))
        for (const char each : text.substr(kPrefix.size()))
            if (each != '-')
                digits += each;
    if (digits.size() != 2 * uuid.size() || digits.find_first_not_of("0123456789abcdefABCDEF") != std::string::npos)
        fail("'{}' is no UUID of a GPU", text);
    for (std::size_t i = 0; i < uuid.size(); ++i)
        uuid[i] = static_cast<std::uint8_t>(std::stoul(digits.substr(2 * i, 2), nullptr, 16));
    return uuid;
}

}  // namespace criu::cuda
