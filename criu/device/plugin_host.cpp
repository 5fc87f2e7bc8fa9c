// SPDX-License-Identifier: GPL-2.0-only
#include "criu/device/plugin_host.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <exception>
#include <string>
#include <utility>
#include <vector>

#include "criu/base/log.hpp"
#include "criu/device/plugin_symbols.hpp"
#include "criu/image/image_dir.hpp"
#include "criu/model/options.hpp"
#include "lib/c/criu-plugin.h"

namespace criu::device {
namespace {

const Context*& current() noexcept {
    static const Context* context = nullptr;
    return context;
}

/// Options of plugins in the form of main()'s arguments.
class PluginArguments {
public:
    /// Returns the arguments for `options`. Equal options keep their addresses, because plugins may store them.
    [[nodiscard]] std::vector<char*>& of(const std::vector<std::string>& options) {
        std::vector<std::string> texts{"criu-plugin"};
        for (const std::string& option : options)
            texts.push_back("--" + option);
        if (texts != texts_) {
            texts_ = std::move(texts);
            pointers_.resize(texts_.size() + 1);
        }
        // Sets all pointers again, because getopt_long() of another plugin may have changed their order.
        std::transform(texts_.begin(), texts_.end(), pointers_.begin(), [](std::string& text) { return text.data(); });
        return pointers_;
    }

private:
    std::vector<std::string> texts_;
    std::vector<char*> pointers_;
};

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

int criu_plugin_get_options(int* argc, char*** argv) {
    static criu::device::PluginArguments arguments;
    const auto* const context = criu::device::current();
    if (context == nullptr || argc == nullptr || argv == nullptr)
        return -EINVAL;
    try {
        std::vector<char*>& pointers = arguments.of(context->options.pluginOptions);
        *argc = static_cast<int>(pointers.size()) - 1;
        *argv = pointers.data();
        return 0;
    } catch (const std::exception&) {
        return -ENOMEM;
    }
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
