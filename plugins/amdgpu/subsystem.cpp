// SPDX-License-Identifier: GPL-2.0-only
#include "plugins/amdgpu/subsystem.hpp"

#include <limits>
#include <optional>
#include <utility>

#include "criu/device/content_mover.hpp"
#include "criu/kernel/proc/scan.hpp"
#include "plugins/amdgpu/dump.hpp"
#include "plugins/amdgpu/features.hpp"
#include "plugins/amdgpu/options.hpp"
#include "plugins/amdgpu/restore.hpp"
#include "plugins/amdgpu/stopped_queues.hpp"

namespace criu::amdgpu {
namespace {

class AmdgpuSubsystem final : public device::Subsystem {
public:
    AmdgpuSubsystem(std::unique_ptr<Kernel> kernel, std::function<const char*(const char*)> environment)
        : kernel_(std::move(kernel)), environment_(std::move(environment)) {}

    [[nodiscard]] std::string_view name() const override { return "amdgpu"; }
    [[nodiscard]] std::string_view inventoryName() const override { return kInventoryName; }
    [[nodiscard]] std::vector<std::string_view> replacesPlugins() const override { return {kInventoryName}; }

    std::unique_ptr<device::DeviceDump> startDump(const device::Context& context) override {
        return std::make_unique<AmdgpuDump>(*kernel_, stopped_, context, limitOf(context.options));
    }
    std::unique_ptr<device::DeviceRestore> startRestore(const device::Context& context) override {
        return std::make_unique<AmdgpuRestore>(
            *kernel_, context, [this, &options = context.options] { return MatchRules::from(options, environment_); },
            limitOf(context.options));
    }
    void rescue(Log& log, const ImageDir&) noexcept override { stopped_.startAll(*kernel_, log); }
    [[nodiscard]] std::vector<device::Feature> features() const override { return amdgpu::features(*kernel_); }

private:
    /// Returns a function that determines the limit. A malformed environment variable is an error only if a caller
    /// calls this function, so only on machines that use GPUs.
    [[nodiscard]] std::function<std::uint64_t()> limitOf(const model::Options& options) const {
        return [this, &options] { return bufferLimit(options); };
    }

    [[nodiscard]] std::uint64_t bufferLimit(const model::Options& options) const {
        std::optional<std::uint64_t> limit = valueOf(Option::Buffer, options);
        if (const char* const text = environment_("KFD_MAX_BUFFER_SIZE"); text != nullptr && !limit)
            limit = parseBufferSize(text);
        if (limit == 0)
            return std::numeric_limits<std::uint64_t>::max();  // 0 means no limit, as in CRIU 4.2
        return limit.value_or(device::kDefaultContentLimit);
    }

    std::unique_ptr<Kernel> kernel_;
    std::function<const char*(const char*)> environment_;
    StoppedQueues stopped_;
};

}  // namespace

std::uint64_t parseBufferSize(std::string_view text) {
    kernel::Scanner scan(text);
    std::uint64_t value = 0;
    int base = 10;
    if (scan.skip("0x") || scan.skip("0X"))
        base = 16;
    else if (text.starts_with('0'))
        base = 8;
    unsigned shift = 0;
    const bool number = scan.number(value, base);
    if (scan.skip('K') || scan.skip('k'))
        shift = 10;
    else if (scan.skip('M'))
        shift = 20;
    else if (scan.skip('G'))
        shift = 30;
    if (!number || !scan.done() || value > (~std::uint64_t{0} >> shift))
        fail("KFD_MAX_BUFFER_SIZE is '{}', use a number with K, M, G or nothing behind it", text);
    return value << shift;
}

std::unique_ptr<device::Subsystem> makeSubsystem(std::unique_ptr<Kernel> kernel,
                                                 std::function<const char*(const char*)> environment) {
    return std::make_unique<AmdgpuSubsystem>(std::move(kernel), std::move(environment));
}

}  // namespace criu::amdgpu
