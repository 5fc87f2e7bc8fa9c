// SPDX-License-Identifier: GPL-2.0-only
#include "criu/options/plugin_option.hpp"

#include <algorithm>
#include <string>

#include "criu/base/error.hpp"
#include "criu/options/option_table.hpp"
#include "criu/options/option_values.hpp"

namespace criu::options {
namespace {

constexpr std::string_view kCuda = "cuda_plugin.";
constexpr std::string_view kDeviceMap = "cuda_plugin.device-map";

/// Applies the option `name` of the option table.
void applyOption(std::string_view name, std::string_view value, model::Options& options) {
    const auto table = optionTable();
    const auto row = std::find_if(table.begin(), table.end(), [&](const OptionRow& each) { return each.name == name; });
    if (row == table.end())
        fail("this criu has no option --{}", name);
    row->apply(options, {*row, false, value});
}

/// Applies a device map. "auto" changes nothing, because it is criu's default. Other values have the form
/// OLD=NEW,OLD=NEW.
void applyDeviceMap(std::string_view value, model::Options& options) {
    if (value == "auto")
        return;
    for (const std::string& pair : parseList(value))
        applyOption("gpu-map", pair, options);
}

/// Throws Error for a name that isn't one of CRIU's methods to control the CUDA driver. criu always uses the interface
/// of the driver.
void checkBackend(std::string_view value) {
    if (value != "auto" && value != "driver-api" && value != "cuda-checkpoint")
        fail("unknown backend '{}', use one of: auto, driver-api, cuda-checkpoint", value);
}

void applyTimeout(std::string_view value, model::Options& options) {
    constexpr std::int64_t kMost = 1 << 30;
    const std::int64_t seconds = parseNumber(value, 0, kMost);
    // 0 means no limit for the plugin.
    applyOption("cuda-timeout", std::to_string(seconds == 0 ? kMost : seconds), options);
}

void applyCudaOption(std::string_view text, model::Options& options) {
    const std::size_t equals = std::min(text.find('='), text.size());
    const std::string_view name = text.substr(0, equals);
    const std::string_view value = text.substr(std::min(equals + 1, text.size()));
    if (equals == text.size())
        fail("'{}' is not of the form NAME=VALUE", text);
    const ErrorContext context([&] { return std::string(name); });
    if (name == "cuda_plugin.backend")
        checkBackend(value);
    else if (name == "cuda_plugin.timeout")
        applyTimeout(value, options);
    else if (name == kDeviceMap)
        applyDeviceMap(value, options);
    else
        fail("cuda_plugin has no such option, use one of: cuda_plugin.backend, cuda_plugin.timeout, {}", kDeviceMap);
}

}  // namespace

void applyPluginOption(std::string_view text, model::Options& options) {
    const std::string_view name = text.substr(0, text.find('='));
    const std::size_t dot = name.find('.');
    if (dot == 0 || dot == std::string_view::npos || dot + 1 == name.size())
        fail("'{}' is not of the form PLUGIN.NAME=VALUE", text);
    if (text.starts_with(kCuda))
        applyCudaOption(text, options);
    options.pluginOptions.emplace_back(text);
}

bool isRestorePluginOption(std::string_view text) noexcept {
    return text.substr(0, text.find('=')) == kDeviceMap;
}

}  // namespace criu::options
