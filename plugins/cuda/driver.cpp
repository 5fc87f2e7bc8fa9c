// SPDX-License-Identifier: GPL-2.0-only
#include "plugins/cuda/driver.hpp"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <mutex>
#include <span>
#include <sstream>

#include "criu/base/hex.hpp"
#include "criu/kernel/proc/scan.hpp"
#include "plugins/cuda/api.hpp"
#include "plugins/cuda/management.hpp"
#include "plugins/cuda/storage.hpp"

namespace criu::cuda {
namespace {

constexpr const char* kControlDevice = "/dev/nvidiactl";
constexpr const char* kGpuFolder = "/proc/driver/nvidia/gpus";
constexpr const char* kVersionFile = "/proc/driver/nvidia/version";
constexpr std::string_view kUuidPrefix = "GPU-";
constexpr const char* kGpuPartFile = "/proc/driver/nvidia-caps/mig-minors";

std::string wholeFile(const std::filesystem::path& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
}

/// Returns the value of the line "KEY: VALUE" in a file of the driver below /proc.
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

class RealDriver final : public Driver {
public:
    [[nodiscard]] bool isPresent() const override { return ::access(kControlDevice, F_OK) == 0; }

    [[nodiscard]] std::optional<State> state(pid_t pid) override {
        int value = 0;
        const int result = api().getState(pid, &value);
        if (result == kInvalidValue || result == kNotInitialized)
            return std::nullopt;
        if (result != kSuccess)
            api().failed(result, fmt::format("ask for the CUDA state of process {}", pid));
        return static_cast<State>(value);
    }

    [[nodiscard]] pid_t restoreThread(pid_t pid) override {
        int value = 0;
        if (const int result = api().getRestoreThread(pid, &value); result != kSuccess)
            api().failed(result, fmt::format("ask for the driver's thread in process {}", pid));
        return value;
    }

    [[nodiscard]] bool lock(pid_t pid, std::chrono::milliseconds limit) override {
        LockArguments arguments;
        arguments.timeoutMs = static_cast<std::uint32_t>(std::max<std::int64_t>(limit.count(), 1));
        const int result = api().lock(pid, &arguments);
        if (result == kNotReady)
            return false;
        if (result != kSuccess)
            api().failed(result, fmt::format("lock process {}", pid));
        return true;
    }

    void checkpoint(pid_t pid) override {
        if (const int result = api().checkpoint(pid, nullptr); result != kSuccess)
            api().failed(result, fmt::format("copy out what devices hold of process {}", pid));
    }

    void restore(pid_t pid, std::span<const GpuPair> pairs) override {
        // cuInit() starts the GPUs. The driver may have switched off a GPU that no process uses (persistence mode off).
        api().require(api().initialize(), "start the CUDA driver");
        RestoreArguments arguments;
        arguments.pairs = pairs.data();
        arguments.count = static_cast<std::uint32_t>(pairs.size());
        if (const int result = api().restore(pid, pairs.empty() ? nullptr : &arguments); result != kSuccess)
            api().failed(result, fmt::format("put back on devices what they held of process {}", pid));
    }

    void unlock(pid_t pid) override {
        if (const int result = api().unlock(pid, nullptr); result != kSuccess)
            api().failed(result, fmt::format("unlock process {}", pid));
    }

    [[nodiscard]] const Storage* storage() override {
        const std::lock_guard lock(starting_);
        if (!storage_)
            storage_ = Storage::open(api());
        return storage_.get();
    }

    [[nodiscard]] int apiVersion() override { return api().version(); }

    [[nodiscard]] std::vector<Gpu> gpus() const override {
        std::vector<Gpu> found;
        std::error_code gone;
        // Directories of the GPUs. Their names are PCI addresses with leading zeroes, so sorting the names sorts the
        // addresses.
        std::vector<std::filesystem::path> folders;
        for (const auto& folder : std::filesystem::directory_iterator(kGpuFolder, gone))
            folders.push_back(folder.path());
        std::sort(folders.begin(), folders.end());
        for (const std::filesystem::path& folder : folders) {
            const std::string text = wholeFile(folder / "information");
            found.push_back({valueOf(text, "GPU UUID"), valueOf(text, "Model")});
        }
        return found;
    }

    [[nodiscard]] std::string version() const override {
        // Form of the line: "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.159.04  Fri …"
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

    [[nodiscard]] std::map<int, std::string> gpuParts() const override {
        // Form of a line: "gpu0/gi1/access 12", or "gpu0/gi1/ci0/access 13" for a compute instance in the GPU instance.
        // The lines "config 1" and "monitor 2" are about all GPUs.
        std::map<int, std::string> parts;
        std::istringstream lines(wholeFile(kGpuPartFile));
        std::string name;
        int minor = 0;
        while (lines >> name >> minor)
            if (const std::size_t instance = name.find("/gi"); instance != std::string::npos)
                parts.emplace(minor, name.substr(0, name.find('/', instance + 1)));
        return parts;
    }

    [[nodiscard]] std::map<std::string, GpuMemory> memory() const override { return readGpuMemory(); }

private:
    Api& api() {
        const std::lock_guard lock(loading_);
        if (!api_)
            api_.emplace();
        return *api_;
    }

    std::mutex loading_;
    std::optional<Api> api_;
    std::mutex starting_;
    std::unique_ptr<Storage> storage_;
};

}  // namespace

std::unique_ptr<Driver> makeDriver() {
    return std::make_unique<RealDriver>();
}

std::string formatUuid(const Uuid& uuid) {
    std::string text = toHex(std::as_bytes(std::span(uuid)));
    for (const std::size_t at : {20U, 16U, 12U, 8U})
        text.insert(at, 1, '-');
    return std::string(kUuidPrefix) + text;
}

Uuid parseUuid(const std::string& text) {
    Uuid uuid{};
    std::string digits;
    if (text.starts_with(kUuidPrefix))
        std::ranges::copy_if(text.substr(kUuidPrefix.size()), std::back_inserter(digits),
                             [](char c) { return c != '-'; });
    if (!parseHex(digits, std::as_writable_bytes(std::span(uuid))))
        fail("'{}' is no UUID of a GPU", text);
    return uuid;
}

}  // namespace criu::cuda
