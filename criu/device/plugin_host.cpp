// SPDX-License-Identifier: GPL-2.0-only
#include "criu/device/plugin_host.hpp"

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <utility>

#include "criu/base/log.hpp"
#include "criu/device/plugin_symbols.hpp"
#include "criu/image/image_dir.hpp"
#include "lib/c/criu-plugin.h"

namespace criu::device {
namespace {

const Context*& current() noexcept {
    static const Context* context = nullptr;
    return context;
}

}  // namespace

PluginHost::PluginHost(const Context& context) : before_(std::exchange(current(), &context)) {
    setPluginSymbols(context);
}

PluginHost::~PluginHost() {
    current() = before_;
}

const Context* pluginContext() noexcept {
    return current();
}

}  // namespace criu::device

// Functions that plugins call. They throw no exceptions, because C callers can't catch them.

int criu_get_image_dir() {
    const auto* const context = criu::device::current();
    return context == nullptr ? -1 : context->images.fd();
}

int add_inventory_plugin(const char* name) {
    const auto* const context = criu::device::current();
    if (context == nullptr || name == nullptr)
        return -1;
    auto& names = context->inventory.names;
    if (std::find(names.begin(), names.end(), name) == names.end())
        names.emplace_back(name);
    return 0;
}

bool check_and_remove_inventory_plugin(const char* name, size_t length) {
    const auto* const context = criu::device::current();
    if (context == nullptr || name == nullptr)
        return false;
    if (!context->inventory.listed)
        return true;
    auto& names = context->inventory.names;
    const std::string_view wanted = std::string_view(name).substr(0, length);
    const auto found =
        std::find_if(names.begin(), names.end(), [&](const std::string& listed) { return listed.starts_with(wanted); });
    if (found == names.end())
        return false;
    names.erase(found);
    return true;
}

void print_on_level(unsigned int level, const char* format, ...) {
    const auto* const context = criu::device::current();
    if (context == nullptr)
        return;
    char text[4096];
    va_list arguments;
    va_start(arguments, format);
    std::vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    std::string_view line(text);
    while (!line.empty() && line.back() == '\n')
        line.remove_suffix(1);
    const auto at = static_cast<criu::LogLevel>(std::min(level, 4U));
    if (context->log.enabled(at))
        context->log.line(at, nullptr, line);
}
