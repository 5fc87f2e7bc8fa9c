// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <memory>
#include <string>

#include "criu/base/shared_library.hpp"
#include "lib/c/criu-plugin.h"

namespace criu::device {

/// Loaded shared object of a plugin. criu never unloads it, because it may have started threads or registered handlers.
class PluginFile {
public:
    /// Loads a file. Throws Error if the file isn't a plugin, or if it needs a later version of the interface. criu
    /// never calls hooks that it doesn't know.
    explicit PluginFile(const std::string& path);

    [[nodiscard]] const char* name() const noexcept { return descriptor_->name; }
    [[nodiscard]] bool has(int hook) const noexcept { return at(hook) != nullptr; }
    void init(int stage) const;
    void exit(int stage, int result) const noexcept;

    /// Calls a hook of type int(Arguments...). Returns -ENOTSUP if the plugin lacks the hook.
    template <typename... Arguments>
    int call(int hook, Arguments... arguments) const {
        void* const function = at(hook);
        return function == nullptr ? -kNotSupported : reinterpret_cast<int (*)(Arguments...)>(function)(arguments...);
    }

    static constexpr int kNotSupported = 95;  // ENOTSUP; the plugin ABI contains the number

private:
    [[nodiscard]] void* at(int hook) const noexcept;
    void findOldFunctions(const SharedLibrary& library, const std::string& path);

    const cr_plugin_desc_t* descriptor_ = nullptr;
    std::unique_ptr<cr_plugin_desc_t> own_;  ///< descriptor that criu creates for a plugin without one
    std::string ownName_;
};

}  // namespace criu::device
